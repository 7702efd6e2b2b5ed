// Every policy ends every job that the cluster can run, whatever the jobs, the machines and what else is asked for.
//
// ORRERY_LIVENESS_RUNS random simulations of each policy, 300 unless it is set.

#include <cmath>
#include <cstdlib>
#include <fmt/format.h>

#include "base/random.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

constexpr TimeNs kSecond = schedule::kSecondNs;
constexpr std::uint64_t kDefaultRuns = 300;

std::uint64_t wanted_runs() {
  const char* const wanted = std::getenv("ORRERY_LIVENESS_RUNS");
  return wanted == nullptr ? kDefaultRuns : std::strtoull(wanted, nullptr, 10);
}

int pick(Random& random, int low, int high) {
  return low + static_cast<int>(random.uniform() * (high - low + 1));
}

template <class Value>
Value one_of(Random& random, std::initializer_list<Value> values) {
  return *(values.begin() + pick(random, 0, static_cast<int>(values.size()) - 1));
}

struct Scenario {
  JobTrace job_trace;
  RunSetup setup;
  std::string what;  // the options that are on, for messages
};

void draw_cluster(Random random, bool typed, Scenario& scenario) {
  const int machines = pick(random, 1, 6), gpus = one_of(random, {1, 2, 4, 8});
  const bool uneven = random.uniform() < 0.3;
  for (int m = 0; m < machines; ++m) {
    schedule::MachineView machine{.gpus = uneven ? pick(random, 1, 8) : gpus, .rack = m / 2};
    if (typed) machine.device = m % 2;
    scenario.setup.machines.push_back(machine);
  }
  scenario.setup.engine.check_invariants = true;
  if (!typed) return;
  scenario.setup.devices = {"V100", "K80"};
  scenario.job_trace.devices = {"V100", "K80"};
  // Anywhere alike; slower on one type; on one type only.
  scenario.job_trace.speeds = {{}, {1, 0.4}, {1, 0}, {0.7, 1}};
}

schedule::SharedStages draw_stages(Random& random) {
  if (random.uniform() < 0.5) return nullptr;
  schedule::StageTimes stages{.load_s = random.uniform(), .gpu_s = random.uniform(), .network_s = random.uniform()};
  stages.iteration_s = schedule::sum_s(stages);
  return schedule::shared_stages(stages);
}

void draw_jobs(Random random, bool typed, Scenario& scenario) {
  int all = 0, largest = 1;
  for (const auto& machine : scenario.setup.machines) {
    all += machine.gpus;
    largest = std::max(largest, machine.gpus);
  }
  const int count = pick(random, 2, 30), tenants = pick(random, 1, 4);
  const double gap_s = one_of(random, {0.0, 20.0, 200.0, 1000.0}), tick_s = one_of(random, {1.0, 60.0, 0.001});
  double submit_s = 0;
  for (int j = 0; j < count; ++j) {
    submit_s += gap_s > 0 ? random.exponential(gap_s) : 0;
    const double length_s = std::exp(random.uniform(std::log(1.0), std::log(8000.0)));
    // Some are larger than a machine; a few than the cluster, which is no fault of the policy.
    const int gpus = random.uniform() < 0.7 ? pick(random, 1, largest) : pick(random, 1, all + 1);
    TraceJob job = job_of(std::floor(submit_s / tick_s) * tick_s, std::ceil(length_s / tick_s) * tick_s, gpus);
    job.id = fmt::format("j{}", j);
    job.facts.tenant = pick(random, 0, tenants - 1);
    job.facts.priority = pick(random, 0, 3);
    if (random.uniform() < 0.3) job.facts.deadline_ns = job.facts.submit_ns + 3 * job.facts.work_ns;
    if (random.uniform() < 0.3) job.facts.gpus_max = gpus * pick(random, 1, 4);
    if (random.uniform() < 0.6) {
      job.facts.gpu_utilisation = one_of(random, {0.1, 0.3, 0.5, 0.8, 1.0});
      job.facts.gpu_memory_share = one_of(random, {0.1, 0.3, 0.5, 0.8, 1.0});
    }
    job.facts.stages = draw_stages(random);
    if (typed) job.facts.speed_class = pick(random, 0, 3);
    scenario.job_trace.jobs.push_back(std::move(job));
  }
  for (int t = 0; t < tenants; ++t) scenario.job_trace.tenants.push_back(fmt::format("t{}", t));
  normalise(scenario.job_trace);
}

void draw_options(Random random, Scenario& scenario) {
  EngineOptions& engine = scenario.setup.engine;
  const auto with = [&](double probability, const char* name) {
    if (random.uniform() >= probability) return false;
    scenario.what += fmt::format(" {}", name);
    return true;
  };
  engine.seed = static_cast<std::uint64_t>(pick(random, 1, 1'000'000));
  if (with(0.4, "failures")) {
    const double between_s = one_of(random, {600.0, 3000.0, 20000.0}), repair_s = one_of(random, {60.0, 600.0, 5000.0});
    const TimeNs until = scenario.job_trace.jobs.back().facts.submit_ns + 40'000 * kSecond;
    engine.outages = random_outages(scenario.setup.machines.size(), between_s, repair_s, until, engine.seed);
    if (with(0.5, "checkpoints")) engine.costs.checkpoint_ns = 300 * kSecond;
  }
  if (with(0.4, "quota")) engine.tenant_quota = pick(random, 1, 12);
  if (with(0.25, "age")) engine.age_ns = pick(random, 60, 4000) * kSecond;
  if (with(0.3, "min-run")) engine.min_run_ns = pick(random, 10, 1000) * kSecond;
  if (with(0.2, "stragglers")) engine.stragglers = {0.3, 3};
  if (with(0.2, "round")) engine.round_ns = one_of(random, {30, 300}) * kSecond;
  if (with(0.3, "prediction-error")) engine.prediction_sigma = 1;
  if (with(0.3, "costs")) {
    engine.costs.first_start_ns = 5 * kSecond;
    engine.costs.resume_ns = 20 * kSecond;
    engine.costs.move_ns = 30 * kSecond;
  }
  if (with(0.15, "fitted")) scenario.setup.fitted_scaling = true;
  if (with(0.2, "spread-cost")) scenario.setup.curve.spread_cost = 0.5;
  scenario.setup.placement = one_of(random, {"consolidated", "consolidated", "most-free", "rack", "best-fit"});
  scenario.what += " " + scenario.setup.placement;
}

Scenario scenario_of(std::uint64_t seed, bool typed) {
  const Random random(seed);
  Scenario scenario;
  if (typed) scenario.what = " types";
  draw_cluster(random.split("cluster"), typed, scenario);
  draw_jobs(random.split("jobs"), typed, scenario);
  draw_options(random.split("options"), scenario);
  return scenario;
}

Result<RunResult> run_scenario(const Scenario& scenario, const std::string& policy) {
  env::SimEnv sim;
  const env::Env env = sim.env();
  RunSetup setup = scenario.setup;
  setup.env = &env;
  return run_policy(scenario.job_trace, setup, policy);
}

class Liveness : public ::testing::TestWithParam<std::string> {};

TEST_P(Liveness, EveryFeasibleJobEnds) {
  const std::uint64_t runs = wanted_runs();
  for (std::uint64_t seed = 1; seed <= runs; ++seed) {
    Scenario scenario = scenario_of(seed, seed % 4 == 0);
    auto result = run_scenario(scenario, GetParam());
    // What a policy reports that it cannot do is taken away, until it accepts.
    if (!result && result.error().code() == ErrorCode::kInvalidArgument && seed % 4 == 0) {
      scenario = scenario_of(seed, false);
      result = run_scenario(scenario, GetParam());
    }
    if (!result && result.error().code() == ErrorCode::kInvalidArgument && scenario.setup.placement == "best-fit") {
      scenario.setup.placement = "consolidated";
      result = run_scenario(scenario, GetParam());
    }
    ASSERT_TRUE(result.has_value()) << "seed " << seed << scenario.what << ": " << result.error().to_string();
    std::vector<std::string> left;
    for (const JobIndex j : result->jobs.indices()) {
      const bool too_large = std::binary_search(result->too_large.begin(), result->too_large.end(), j);
      if (!too_large && result->jobs[j].end_ns == kNever) left.push_back(scenario.job_trace.jobs[j].id);
    }
    ASSERT_TRUE(left.empty()) << "seed " << seed << scenario.what << " left "
                              << fmt::format("{}", fmt::join(left, ", "));
  }
}

std::vector<std::string> names_of_policies() {
  std::vector<std::string> names;
  for (const schedule::PolicyInfo& policy : runnable_policies()) names.push_back(policy.name);
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(EveryPolicy, Liveness, ::testing::ValuesIn(names_of_policies()), test_name);

// c loses its turn on machines 0 and 3 to a in the same instant in which a moves to machine 1: no job is left there
// whose end or turn would trigger another check.
TEST(GandivaLiveness, AJobThatLostItsTurnToOneThatMovedAwayGoesOn) {
  const JobTrace job_trace =
      job_trace_of({job_of(0, 1000, 1), job_of(250, 250, 4), job_of(413, 1000, 4), job_of(457, 100, 4)});
  const RunResult result = run(job_trace, setup_of(4, 2), "gandiva");
  ASSERT_EQ(result.jobs.size(), 4u);
  // From 600 s on, when it would have been its turn again, c has both machines for itself.
  EXPECT_EQ(result.jobs[JobIndex(2)].end_ns / kSecond, 1540);
}

TEST(GandivaLiveness, AJobOfSeveralMachinesLeavesOneThatIsDown) {
  const JobTrace job_trace = job_trace_of({job_of(0, 6000, 1), job_of(40, 4800, 2)});
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    RunSetup setup = setup_of(4, 1);
    setup.engine.outages = random_outages(4, 600, 600, schedule::from_seconds(30 * 86'400.0), seed);
    EXPECT_TRUE(run(job_trace, setup, "gandiva").unfinished.empty()) << "seed " << seed;
  }
}

// Twelve GPUs of three machines with six, four and four: eight would never be left on two of the largest.
TEST(BestFitLiveness, AJobLargerThanAnyMachineTakesWholeOnesOfAnySize) {
  RunSetup setup = setup_of(0, 0);
  setup.machines = {{.gpus = 4}, {.gpus = 6}, {.gpus = 4}};
  setup.placement = "best-fit";
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace_of({job_of(0, 10, 12)}), setup, "fifo");
  ASSERT_EQ(result.log.size(), 1u);
  EXPECT_EQ(result.log[0].decision.allocation,
            (schedule::Allocation{{MachineIndex(1), 6}, {MachineIndex(0), 4}, {MachineIndex(2), 2}}));
}

TEST(AgeingLiveness, AnAgedJobWaitsForATypeThatHasEnoughGpus) {
  JobTrace job_trace = job_trace_of({job_of(0, 100, 4), job_of(0, 100, 4)});
  job_trace.devices = {"V100", "K80"};
  job_trace.speeds = {{}, {1, 0.5}};
  for (TraceJob& job : job_trace.jobs) job.facts.speed_class = 1;
  RunSetup setup = setup_of(0, 0);
  setup.devices = job_trace.devices;
  setup.machines = {{.gpus = 4, .device = 0}, {.gpus = 2, .device = 1}};
  setup.engine.age_ns = 10 * kSecond;
  EXPECT_EQ(ends_s(run(job_trace, setup, "fifo")), (std::vector<TimeNs>{100, 200}));
}

// Starts the first job only.
class StartsOne : public schedule::Policy {
 public:
  std::string_view name() const override { return "starts-one"; }
  void decide(const schedule::ClusterView& view, const schedule::Event&,
              std::vector<schedule::Decision>& decisions) override {
    const JobIndex first(0);
    if (view.progress(first).starts == 0) decisions.push_back({.job = first, .allocation = {{MachineIndex(0), 1}}});
  }
};

Result<RunResult> run_starts_one(const JobTrace& job_trace, const EngineOptions& options = {}) {
  return simulate(
      job_trace, {{.gpus = 1}, {.gpus = 1}}, CurveSpeed({}),
      [](const schedule::ClusterView&) -> Result<std::unique_ptr<schedule::Policy>> {
        return std::make_unique<StartsOne>();
      },
      options);
}

TEST(LivenessCheck, APolicyThatLeavesAJobBehindIsAnErrorThatNamesIt) {
  JobTrace job_trace = job_trace_of({job_of(0, 10, 1), job_of(1, 10, 1), job_of(2, 10, 3)});
  job_trace.jobs[JobIndex(1)].id = "left";
  const auto result = run_starts_one(job_trace);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), ErrorCode::kInternal);
  EXPECT_NE(result.error().to_string().find("starts-one left 1 job"), std::string::npos) << result.error().to_string();
  EXPECT_NE(result.error().to_string().find("left"), std::string::npos);
}

TEST(LivenessCheck, JobsThatWaitForMachinesThatNeverReturnAreNoFaultOfThePolicy) {
  EngineOptions options;
  options.outages = {{.fails_ns = 5 * kSecond, .machine = MachineIndex(0)}};
  const auto result = run_starts_one(job_trace_of({job_of(0, 10, 2), job_of(1, 10, 1)}), options);
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  EXPECT_EQ(result->unfinished, (std::vector{JobIndex(0), JobIndex(1)}));
}

}  // namespace
}  // namespace orrery::simulate
