#pragma once
// Random job traces, clusters and options, small enough for thousands of runs of every policy.

#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "simulate/run_test.h"

namespace orrery::simulate {

inline int pick(Random& random, int low, int high) {
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

inline void draw_cluster(Random random, bool typed, Scenario& scenario) {
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

inline schedule::SharedStages draw_stages(Random& random) {
  if (random.uniform() < 0.5) return nullptr;
  schedule::StageTimes stages{.load_s = random.uniform(), .gpu_s = random.uniform(), .network_s = random.uniform()};
  stages.iteration_s = schedule::sum_s(stages);
  return schedule::shared_stages(stages);
}

inline void draw_jobs(Random random, bool typed, Scenario& scenario) {
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

// Jobs of three models, one of which is not predicted; some say their steps or have a limit.
inline void draw_predictions(Random random, Scenario& scenario) {
  for (const char* model : {"m0", "m1"}) {
    std::map<int, double> step_s;
    double time_s = random.uniform(0.1, 2);
    for (const int gpus : {1, 2, 4, 8}) step_s[gpus] = time_s *= random.uniform(0.5, 1.1);
    scenario.setup.predicted_times.add(model, 0, std::make_shared<const schedule::StepCurve>(std::move(step_s)));
  }
  for (TraceJob& job : scenario.job_trace.jobs) {
    job.model = fmt::format("m{}", pick(random, 0, 2));
    if (random.uniform() < 0.5) job.steps = pick(random, 1, 5000);
    if (random.uniform() < 0.3) job.time_limit_ns = 2 * job.facts.work_ns;
  }
}

inline void draw_options(Random random, Scenario& scenario) {
  EngineOptions& engine = scenario.setup.engine;
  const auto with = [&](double probability, const char* name) {
    if (random.uniform() >= probability) return false;
    scenario.what += fmt::format(" {}", name);
    return true;
  };
  engine.seed = static_cast<std::uint64_t>(pick(random, 1, 1'000'000));
  if (with(0.4, "failures")) {
    const double between_s = one_of(random, {600.0, 3000.0, 20000.0}), repair_s = one_of(random, {60.0, 600.0, 5000.0});
    const TimeNs until = scenario.job_trace.jobs.back().facts.submit_ns + 40'000 * schedule::kSecondNs;
    engine.outages = random_outages(scenario.setup.machines.size(), between_s, repair_s, until, engine.seed);
    if (with(0.5, "checkpoints")) engine.costs.checkpoint_ns = 300 * schedule::kSecondNs;
  }
  if (with(0.4, "quota")) engine.tenant_quota = pick(random, 1, 12);
  if (with(0.25, "age")) engine.age_ns = pick(random, 60, 4000) * schedule::kSecondNs;
  if (with(0.3, "min-run")) engine.min_run_ns = pick(random, 10, 1000) * schedule::kSecondNs;
  if (with(0.2, "stragglers")) engine.stragglers = {0.3, 3};
  if (with(0.2, "round")) engine.round_ns = one_of(random, {30, 300}) * schedule::kSecondNs;
  if (with(0.3, "prediction-error")) engine.prediction_sigma = 1;
  if (with(0.3, "costs")) {
    engine.costs.first_start_ns = 5 * schedule::kSecondNs;
    engine.costs.resume_ns = 20 * schedule::kSecondNs;
    engine.costs.move_ns = 30 * schedule::kSecondNs;
  }
  if (with(0.15, "fitted")) scenario.setup.scaling = ScalingKnowledge::kFitted;
  if (with(0.2, "spread-cost")) scenario.setup.curve.spread_cost = 0.5;
  scenario.setup.placement = one_of(random, {"consolidated", "consolidated", "most-free", "rack", "best-fit"});
  scenario.what += " " + scenario.setup.placement;
  if (with(0.25, "live")) {
    engine.live.emplace();
    engine.prediction_sigma = 0;
    if (scenario.setup.scaling == ScalingKnowledge::kKnown) scenario.setup.scaling = ScalingKnowledge::kPredicted;
    draw_predictions(random.split("predictions"), scenario);
  }
}

inline Scenario scenario_of(std::uint64_t seed, bool typed) {
  const Random random(seed);
  Scenario scenario;
  if (typed) scenario.what = " types";
  draw_cluster(random.split("cluster"), typed, scenario);
  draw_jobs(random.split("jobs"), typed, scenario);
  draw_options(random.split("options"), scenario);
  return scenario;
}

inline Result<RunResult> run_scenario(const Scenario& scenario, const std::string& policy) {
  env::SimEnv sim;
  const env::Env env = sim.env();
  RunSetup setup = scenario.setup;
  setup.env = &env;
  return run_policy(scenario.job_trace, setup, policy);
}

// For tests with the names of policies as parameters.
inline std::vector<std::string> names_of_policies() {
  std::vector<std::string> names;
  for (const schedule::PolicyRecord& policy : runnable_policies()) names.push_back(policy.name);
  return names;
}

inline std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace orrery::simulate
