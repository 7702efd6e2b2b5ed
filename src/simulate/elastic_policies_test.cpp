// Sia, ElasticFlow and Pollux with fixed batches on the simulated cluster.

#include <limits>
#include <rapidcheck/gtest.h>

#include "schedule/policies/sia.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

TraceJob due(TraceJob job, double deadline_s) {
  job.facts.deadline_ns = schedule::from_seconds(deadline_s);
  return job;
}

// 190 s on one GPU, due after 100 s: a step on two takes 0.515, so 98 s. Both need two of the four GPUs; a third job
// like them cannot be admitted, and must not make the others late.
TEST(ElasticFlow, AdmittedJobsKeepTheirDeadlines) {
  const JobTrace job_trace =
      job_trace_of({due(job_of(0, 190, 1), 100), due(job_of(0, 190, 1), 100), due(job_of(0, 190, 1), 100)});
  const std::vector<TimeNs> ends = ends_s(run(job_trace, setup_of(1, 4), "elasticflow"));
  EXPECT_LE(ends[0], 100);
  EXPECT_LE(ends[1], 100);
  EXPECT_GT(ends[2], 100);
}

// Earliest deadline first would let the first job have all: both can be kept because it only gets what it needs.
TEST(ElasticFlow, GivesTheFewestGpusThatAreEnough) {
  const JobTrace job_trace = job_trace_of({due(job_of(0, 100, 1), 400), due(job_of(0, 300, 1), 110)});
  RunSetup setup = setup_of(1, 4);
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace, setup, "elasticflow");
  EXPECT_LE(ends_s(result)[0], 400);
  EXPECT_LE(ends_s(result)[1], 110);
  // 300 s within 110: three GPUs (0.97 / 3 + 0.03 = 0.353 of 300 s).
  bool told = false;
  for (const LoggedDecision& entry : result.log) {
    told = told || (entry.decision.job == JobIndex(1) && entry.decision.reason.why == schedule::Why::kMinimumShare &&
                    schedule::gpus_in(entry.decision.allocation) == 3);
  }
  EXPECT_TRUE(told);
}

TEST(ElasticFlow, NoJobIsLost) {
  const JobTrace job_trace = job_trace_of({due(job_of(0, 1000, 1), 1), job_of(0, 50, 2), due(job_of(5, 20, 1), 500)});
  const RunResult result = run(job_trace, setup_of(1, 2), "elasticflow");
  EXPECT_TRUE(result.unfinished.empty());
  EXPECT_LE(ends_s(result)[2], 500);
}

double cost_of(const schedule::ConfigurationProblem& problem, const std::vector<int>& chosen) {
  double sum = 0;
  for (std::size_t j = 0; j < chosen.size(); ++j)
    sum += chosen[j] < 0 ? problem.waiting_cost : problem.costs[j][static_cast<std::size_t>(chosen[j])];
  return sum;
}

bool fits(const schedule::ConfigurationProblem& problem, const std::vector<int>& chosen) {
  std::vector<int> left = problem.gpus;
  for (const int c : chosen) {
    if (c < 0) continue;
    const auto& configuration = problem.configurations[static_cast<std::size_t>(c)];
    left[static_cast<std::size_t>(configuration.type)] -= configuration.gpus;
  }
  return std::all_of(left.begin(), left.end(), [](int gpus) { return gpus >= 0; });
}

double best_cost(const schedule::ConfigurationProblem& problem, std::vector<int>& chosen, std::size_t job) {
  if (job == problem.costs.size()) return fits(problem, chosen) ? cost_of(problem, chosen) : 1e9;
  double best = 1e9;
  for (int c = -1; c < static_cast<int>(problem.configurations.size()); ++c) {
    chosen[job] = c;
    best = std::min(best, best_cost(problem, chosen, job + 1));
  }
  chosen[job] = -1;
  return best;
}

// On one type, with costs that fall ever slower as in practice, what is missed is less than one job's.
RC_GTEST_PROP(Sia, MissesTheBestAssignmentByLessThanOneJob, ()) {
  schedule::ConfigurationProblem problem;
  problem.configurations = {{0, 1}, {0, 2}, {0, 4}};
  problem.gpus = {*rc::gen::inRange(1, 12)};
  const int jobs = *rc::gen::inRange(1, 5);
  for (int j = 0; j < jobs; ++j) {
    const double serial = *rc::gen::inRange(0, 50) / 100.0;
    std::vector<double>& costs = problem.costs.emplace_back();
    for (const auto& configuration : problem.configurations) {
      costs.push_back(std::sqrt((1 - serial) / configuration.gpus + serial));
    }
  }
  const std::vector<int> chosen = schedule::assign_configurations(problem);
  RC_ASSERT(fits(problem, chosen));
  std::vector<int> scratch(problem.costs.size(), -1);
  const double best = best_cost(problem, scratch, 0);
  RC_ASSERT(cost_of(problem, chosen) >= best - 1e-9);
  RC_ASSERT(cost_of(problem, chosen) <= best + problem.waiting_cost);
}

TEST(Sia, EveryJobGoesWhereItIsFast) {
  JobTrace job_trace = job_trace_of({job_of(0, 600, 1), job_of(0, 600, 1)});
  job_trace.devices = {"fast", "slow"};
  job_trace.speeds = {{1, 1}, {1, 0.2}, {1, 0.9}};
  job_trace.jobs[JobIndex(0)].facts.speed_class = 2;
  job_trace.jobs[JobIndex(1)].facts.speed_class = 1;
  RunSetup setup = setup_of(0, 0);
  setup.devices = {"fast", "slow"};
  setup.machines = {{.gpus = 1, .device = 0}, {.gpus = 1, .device = 1}};
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace, setup, "sia");
  ASSERT_GE(result.log.size(), 2u);
  // The second loses most on the slow GPU.
  for (std::size_t i = 0; i < 2; ++i) {
    const schedule::Decision& decision = result.log[i].decision;
    EXPECT_EQ(decision.allocation.front().machine, MachineIndex(decision.job == JobIndex(1) ? 0 : 1));
  }
}

TEST(Sia, AloneAJobGetsAllItCanUse) {
  const RunResult result = run(job_trace_of({job_of(0, 1000, 1)}), setup_of(1, 8), "sia");
  EXPECT_EQ(ends_s(result), (std::vector<TimeNs>{272}));
}

TEST(PolluxWithFixedBatches, SpreadsGpusByWhatTheySpeedUp) {
  const RunResult result = run(job_trace_of({job_of(0, 1000, 1), job_of(0, 1000, 1)}), setup_of(1, 4), "pollux");
  // Two GPUs each: 0.515 of a second for each of the 1000.
  EXPECT_EQ(ends_s(result), (std::vector<TimeNs>{515, 515}));
}

}  // namespace
}  // namespace orrery::simulate
