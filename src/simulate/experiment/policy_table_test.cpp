#include "simulate/experiment/policy_table.h"

#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

// 64 GPU hours in ten hours are a load of 0.8 on one machine. With a job of 16 GPUs it takes two: submissions come
// twice as fast instead.
TEST(PolicyTable, TheLargestJobDoesNotLowerTheLoad) {
  JobTrace job_trace = job_trace_of({job_of(0, 8 * 3600, 8), job_of(10 * 3600, 1e-6, 1)});
  job_trace.jobs[1].facts.deadline_ns = job_trace.jobs[1].facts.submit_ns + 5;
  EXPECT_EQ(machines_for(job_trace, 0.8), 1u);
  EXPECT_EQ(hurried(job_trace, 0.8).jobs[1].facts.submit_ns, job_trace.jobs[1].facts.submit_ns);
  job_trace.jobs[0].facts.gpus = 16;
  job_trace.jobs[0].facts.work_ns /= 2;
  EXPECT_EQ(machines_for(job_trace, 0.8), 2u);
  const JobTrace twice = hurried(job_trace, 0.8);
  EXPECT_NEAR(schedule::to_seconds(twice.jobs[1].facts.submit_ns), 5 * 3600, 1);
  EXPECT_EQ(twice.jobs[1].facts.deadline_ns - twice.jobs[1].facts.submit_ns, 5);
}

}  // namespace
}  // namespace orrery::simulate
