// Every policy ends every job that the cluster can run, whatever the jobs, the machines and what else is asked for.
//
// ORRERY_LIVENESS_RUNS random simulations of each policy, 300 unless it is set.

#include <cstdlib>
#include <fmt/format.h>

#include "simulate/test_scenario.h"

namespace orrery::simulate {
namespace {

constexpr TimeNs kSecond = schedule::kSecondNs;
constexpr std::uint64_t kDefaultRuns = 300;

std::uint64_t wanted_runs() {
  const char* const wanted = std::getenv("ORRERY_LIVENESS_RUNS");
  return wanted == nullptr ? kDefaultRuns : std::strtoull(wanted, nullptr, 10);
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
  void exchange(schedule::StateArchive&) override {}
  void adopt(const schedule::ClusterView&) override {}
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
