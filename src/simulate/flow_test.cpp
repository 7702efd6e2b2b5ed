// Our own policy on the simulated cluster, and its entry in the table of policies.

#include <algorithm>

#include "base/random.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

// More jobs than GPUs: one by one, the shortest first.
TEST(Flow, TheShortestRunsFirst) {
  EXPECT_EQ(ends_s(run(job_trace_of({job_of(0, 100, 1), job_of(0, 10, 1)}), setup_of(1, 1), "flow")),
            (std::vector<TimeNs>{110, 10}));
}

// Alone a job gets all it can use: four times the GPU it asked for, where a step takes 0.97 / 4 + 0.03 of one.
TEST(Flow, AloneAJobGetsAllItCanUse) {
  EXPECT_EQ(ends_s(run(job_trace_of({job_of(0, 1000, 1)}), setup_of(1, 8), "flow")), (std::vector<TimeNs>{272}));
}

TraceJob staged(double submit_s, double length_s, int gpus, double load_s, double gpu_s) {
  TraceJob job = job_of(submit_s, length_s, gpus);
  job.facts.stages = schedule::shared_stages({.load_s = load_s, .gpu_s = gpu_s, .iteration_s = load_s + gpu_s});
  return job;
}

// One GPU, two jobs of 100 s: together each has 1.015 / 1.33 of its speed, 131 s. One after the other they would end at
// 100 and 200 s.
TEST(Flow, StagesThatFitTakeTurns) {
  const JobTrace job_trace = job_trace_of({staged(0, 100, 1, 1, 0), staged(0, 100, 1, 0, 1)});
  EXPECT_EQ(ends_s(run(job_trace, setup_of(1, 1), "flow")), (std::vector<TimeNs>{131, 131}));
  const JobTrace same = job_trace_of({staged(0, 100, 1, 0, 1), staged(0, 100, 1, 0, 1)});
  EXPECT_EQ(ends_s(run(same, setup_of(1, 1), "flow")), (std::vector<TimeNs>{100, 200}));
}

// With any sequence of submissions, restarts and failures, and jobs that must not be suspended: the ledger is
// consistent after every event, and all jobs end.
TEST(Flow, SharesSoundly) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    IndexedVector<JobIndex, TraceJob> jobs;
    double at_s = 0;
    for (int j = 0; j < 150; ++j) {
      at_s += random.exponential(60);
      const double load_s = static_cast<double>(random.below(5)), gpu_s = 1 + static_cast<double>(random.below(5));
      jobs.push_back(staged(at_s, 1 + random.exponential(2000), 1 << random.below(4), load_s, gpu_s));
    }
    RunSetup setup = setup_of(3, 8);
    setup.engine.costs.resume_ns = setup.engine.costs.move_ns = 30 * schedule::kSecondNs;
    setup.engine.keep_log = true;
    if (seed % 2 == 0) setup.engine.min_run_ns = 700 * schedule::kSecondNs;
    if (seed > 3) setup.engine.outages = random_outages(3, 20'000, 2'000, schedule::from_seconds(at_s), seed);
    const RunResult result = run(job_trace_of(jobs), setup, "flow");
    EXPECT_TRUE(result.unfinished.empty()) << seed;
    const auto shared = std::count_if(result.log.begin(), result.log.end(), [](const LoggedDecision& entry) {
      return entry.decision.action == schedule::Action::kInterleave;
    });
    EXPECT_GT(shared, 10) << seed;
  }
}

}  // namespace
}  // namespace orrery::simulate
