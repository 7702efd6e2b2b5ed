#include "lab/experiments/completion_bound.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "lab/lab.h"
#include "simulate/run_test.h"

namespace orrery::lab {
namespace {

constexpr int kRounds = 60;

TEST(CompletionBound, AloneAJobNeedsItsShortestTime) {
  const schedule::Speedup speedup({1, 1.5});
  EXPECT_DOUBLE_EQ(least_mean_completion_s({{0, 30, &speedup}}, 8, kRounds), 20);
}

// One GPU, three jobs of 10 s at once: they end after 10, 20 and 30 s, 20 on average. With the best
// values the bound is 20, less what points of time 5 to 10 s apart lose.
TEST(CompletionBound, IsCloseWhereJobsRunOneByOne) {
  const schedule::Speedup speedup({1});
  const double bound = least_mean_completion_s({{0, 10, &speedup}, {0, 10, &speedup}, {0, 10, &speedup}}, 1, 400);
  EXPECT_LE(bound, 20);
  EXPECT_GE(bound, 15);
}

// Whatever the jobs, no policy is below it; restarts cost nothing here.
RC_GTEST_PROP(CompletionBound, NoPolicyIsBelowIt, ()) {
  const CurveSpeed curve{CurveOptions{}};
  const int gpus = *rc::gen::inRange(1, 9);
  IndexedVector<JobIndex, TraceJob> trace;
  double submit_s = 0;
  for (int j = *rc::gen::inRange(1, 12); j > 0; --j) {
    submit_s += *rc::gen::inRange(0, 200);
    trace.push_back(job_of(submit_s, *rc::gen::inRange(1, 1000), *rc::gen::inRange(1, gpus + 1)));
  }
  IndexedVector<JobIndex, schedule::Speedup> speedups;
  for (const TraceJob& job : trace) {
    std::vector<double> speeds;
    for (int k = 1; k <= std::min(gpus, 4 * job.facts.gpus); ++k) speeds.push_back(1 / curve.step_share(k));
    speedups.emplace_back(speeds);
  }
  std::vector<BoundJob> jobs;
  for (const JobIndex j : trace.indices()) {
    jobs.push_back({schedule::to_seconds(trace[j].facts.submit_ns),
                    schedule::to_seconds(trace[j].facts.work_ns) / curve.step_share(trace[j].facts.gpus),
                    &speedups[j]});
  }
  const double bound = least_mean_completion_s(jobs, gpus, kRounds);
  const JobTrace job_trace = job_trace_of(trace);
  for (const char* policy : {"flow", "srtf", "srsf", "equal-share", "elasticflow"}) {
    const RunResult result = run(job_trace, setup_of(1, gpus), policy);
    double sum = 0;
    for (const JobIndex j : job_trace.jobs.indices())
      sum += schedule::to_seconds(result.jobs[j].end_ns - job_trace.jobs[j].facts.submit_ns);
    RC_ASSERT(sum / static_cast<double>(trace.size()) >= bound * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace orrery::lab
