// Gavel's policies on the simulated cluster.

#include "lab/lab.h"
#include "lab/reference/gavel/gavel_simulator.h"
#include "simulate/generate.h"
#include "simulate/readers/reader.h"
#include "simulate/run_test.h"

namespace orrery::lab {
namespace {

// One GPU, two jobs of an hour: max-min fairness gives each half of the rounds, so both end near two hours.
TEST(GavelRun, TwoJobsTakeTurns) {
  const JobTrace job_trace = job_trace_of({job_of(0, 3600, 1), job_of(0, 3600, 1)});
  const RunResult result = run(job_trace, setup_of(1, 1), "gavel");
  EXPECT_EQ(ends_s(result)[1], 7200);
  EXPECT_GE(ends_s(result)[0], 6480);
  EXPECT_GT(result.jobs[JobIndex(0)].starts, 5);
}

TEST(GavelRun, PairsShareGpusWhereThatPays) {
  JobTrace job_trace = job_trace_of({job_of(0, 3600, 1), job_of(0, 3600, 1)});
  for (TraceJob& job : job_trace.jobs) {
    job.facts.gpu_utilisation = 0.4;
    job.facts.gpu_memory_share = 0.4;
  }
  // Together they lose 5 %: both end after 3600 / 0.95 s.
  const RunResult result = run(job_trace, setup_of(1, 1), "gavel-packed");
  EXPECT_EQ(ends_s(result), (std::vector<TimeNs>{3789, 3789}));
  job_trace.jobs[JobIndex(1)].facts.gpu_memory_share = 0.7;
  EXPECT_GE(ends_s(run(job_trace, setup_of(1, 1), "gavel-packed"))[1], 7200);
}

TEST(GavelRun, JobsGoWhereTheyAreFastest) {
  auto file = read_job_trace(
      "id,submit_s,duration_s,gpus,duration_s.fast,duration_s.slow\na,0,,1,4000,16000\nb,0,,1,4000,5000\n", "trace");
  ASSERT_TRUE(file.has_value());
  RunSetup setup = setup_of(0, 0);
  setup.devices = {"fast", "slow"};
  setup.machines = {{.gpus = 1, .device = 0}, {.gpus = 1, .device = 1}};
  // Together they are fastest with a on the fast one. In the round after its end, from 4320 s on, b goes there with
  // 4000 (1 - 4320 / 5000) = 544 s left.
  EXPECT_EQ(ends_s(run(file->job_trace, setup, "gavel-throughput")), (std::vector<TimeNs>{4000, 4864}));
}

TEST(GavelRun, EveryJobEndsUnderEveryGoal) {
  const JobTrace job_trace = generate({.jobs = 120, .rate_per_h = 300, .seed = 5});
  for (const char* policy : {"gavel", "gavel-finish", "gavel-makespan", "gavel-throughput", "gavel-isolated",
                             "gavel-packed", "gavel-cost"}) {
    const RunResult result = run(job_trace, setup_of(3, 8), policy);
    EXPECT_TRUE(result.unfinished.empty()) << policy;
  }
}

// The world of the published simulator: rounds of 360 s, whole steps.
TEST(GavelSimulator, ByHand) {
  const auto speeds = PackedSpeeds::parse(
      R"json({"v100": {"('A', 1)": {"null": 1.0, "('B', 1)": [0.9, 1.5]}, "('B', 1)": {"null": 2.0}}})json", {"v100"});
  ASSERT_TRUE(speeds.has_value()) << speeds.error().to_string();
  const PackedSpeeds::Kind a = speeds->kind("A", 1), b = speeds->kind("B", 1);
  EXPECT_EQ(speeds->kind("A", 2), -1);
  EXPECT_EQ(speeds->packed(b, a), std::vector<double>{1.5});
  const GavelJobs jobs = {{a, 500, 1, 0}, {b, 1000, 1, 0}};
  // fifo: A runs 360 + 140 s. Shares are 500 s old then, but were first computed at 0, so they are computed anew; B
  // runs 360 s (720 steps), then 140 s.
  const auto fifo = simulate_gavel(jobs, *speeds, "fifo_perf", {.gpus = {1}});
  ASSERT_TRUE(fifo.has_value());
  EXPECT_EQ(fifo->completion_s, (std::vector<double>{500, 1000}));
  // Coming back takes 20 s of a full round: A does 340 steps and 160 more, B 680 and 320 more.
  EXPECT_EQ(simulate_gavel(jobs, *speeds, "fifo_perf", {.gpus = {1}, .resume_s = 20})->completion_s,
            (std::vector<double>{520, 1040}));
  // Two GPUs: both at once; B is done at 500 too, in two rounds.
  EXPECT_EQ(simulate_gavel(jobs, *speeds, "allox", {.gpus = {2}})->completion_s, (std::vector<double>{500, 500}));
  // In turns: A 360 s, B 360 s, then the job that has had less of its share; both have had the same, A came first.
  const auto fair = simulate_gavel(jobs, *speeds, "max_min_fairness_perf", {.gpus = {1}});
  EXPECT_EQ(fair->completion_s, (std::vector<double>{860, 1000}));
  // Drawn into a pair that does 0.9 + 0.75 of the work: the first round has 324 and 540 steps.
  const auto packed = simulate_gavel(jobs, *speeds, "gandiva", {.gpus = {1}});
  EXPECT_NEAR(packed->completion_s[JobIndex(0)], 360 + std::max(176 / 0.9, 460 / 1.5), 1e-9);
  EXPECT_FALSE(simulate_gavel(jobs, *speeds, "unknown", {.gpus = {1}}).has_value());
}

// b comes to the policy after c, because its tenant has its quota, but stands before c in the trace: the pair of both
// starts with b.
TEST(Gavel, PairsStartWhicheverOfThemCameFirst) {
  JobTrace job_trace = job_trace_of({job_of(0, 700, 2), job_of(57, 5000, 2), job_of(57, 3110, 2)});
  job_trace.tenants = {"t3", "t2"};
  const double used[] = {0.4, 0.5, 0.5}, memory[] = {0.4, 0.5, 0.3};
  for (const JobIndex j : job_trace.jobs.indices()) {
    job_trace.jobs[j].facts.gpu_utilisation = used[j.place()];
    job_trace.jobs[j].facts.gpu_memory_share = memory[j.place()];
  }
  job_trace.jobs[JobIndex(2)].facts.tenant = 1;
  RunSetup setup = setup_of(2, 1);
  setup.engine.tenant_quota = 2;
  setup.engine.keep_log = true;
  const RunResult result = run(job_trace, setup, "gavel-packed");
  const bool packed = std::any_of(result.log.begin(), result.log.end(), [](const LoggedDecision& entry) {
    return entry.decision.action == schedule::Action::kPack && entry.decision.job == JobIndex(2) &&
           entry.decision.other == JobIndex(1);
  });
  EXPECT_TRUE(packed);
}

}  // namespace
}  // namespace orrery::lab
