#include <gtest/gtest.h>

#include "simulate/generate.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

// Σ (1 + priority) · seconds late, of jobs without a deadline from their submission on.
double weighted_tardiness_s(const JobTrace& job_trace, const RunResult& result) {
  double sum = 0;
  for (const JobIndex i : job_trace.jobs.indices()) {
    const schedule::JobFacts& facts = job_trace.jobs[i].facts;
    const TimeNs due = facts.deadline_ns != kNever ? facts.deadline_ns : facts.submit_ns;
    const TimeNs late = std::max<TimeNs>(0, result.jobs[i].end_ns - due);
    sum += (1 + std::max(0.0, facts.priority)) * schedule::to_seconds(late);
  }
  return sum;
}

TEST(MilpOnACluster, IsLessLateThanSimpleRules) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    GenerateOptions options;
    options.jobs = 30;
    options.rate_per_h = 12;
    options.mix = Mix::kPolimi;
    options.seed = seed;
    const JobTrace job_trace = generate(options);
    const RunSetup setup = setup_of(2, 8);
    const double planned = weighted_tardiness_s(job_trace, run(job_trace, setup, "milp"));
    for (const char* rule : {"fifo", "edf", "priority", "srtf", "srsf"})
      EXPECT_LT(planned, weighted_tardiness_s(job_trace, run(job_trace, setup, rule))) << rule << " seed " << seed;
  }
}

TEST(MilpOnACluster, AJobLargerThanAMachineStartsWhenItIsItsTurn) {
  // Two machines of two GPUs. The large job is worth most to run; it waits for the short one, and the long one for it.
  IndexedVector<JobIndex, TraceJob> jobs = {job_of(0, 10, 2), job_of(1, 5, 4), job_of(2, 1000, 2)};
  jobs[JobIndex(1)].facts.priority = 9;
  const RunResult result = run(job_trace_of(std::move(jobs)), setup_of(2, 2), "milp");
  EXPECT_TRUE(result.unfinished.empty());
  EXPECT_EQ(result.jobs[JobIndex(1)].first_start_ns, schedule::from_seconds(10));
  EXPECT_EQ(result.jobs[JobIndex(2)].first_start_ns, schedule::from_seconds(15));
}

TEST(MilpOnACluster, NeedsAClock) {
  const auto result = run_policy(job_trace_of({job_of(0, 10, 1)}), setup_of(1, 1), "milp");
  ASSERT_FALSE(result.has_value());
}

}  // namespace
}  // namespace orrery::simulate
