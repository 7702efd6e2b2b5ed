#include "lab/experiments/policy_table.h"

#include "lab/lab.h"
#include "simulate/generate.h"
#include "simulate/run_test.h"

namespace orrery::lab {
namespace {

// 64 GPU hours in ten hours are a load of 0.8 on one machine. With a job of 16 GPUs it takes two: submissions come
// twice as fast instead.
TEST(PolicyTable, TheLargestJobDoesNotLowerTheLoad) {
  JobTrace job_trace = job_trace_of({job_of(0, 8 * 3600, 8), job_of(10 * 3600, 1e-6, 1)});
  job_trace.jobs[JobIndex(1)].facts.deadline_ns = job_trace.jobs[JobIndex(1)].facts.submit_ns + 5;
  EXPECT_EQ(machines_for(job_trace, 0.8), 1u);
  EXPECT_EQ(hurried(job_trace, 0.8).jobs[JobIndex(1)].facts.submit_ns, job_trace.jobs[JobIndex(1)].facts.submit_ns);
  job_trace.jobs[JobIndex(0)].facts.gpus = 16;
  job_trace.jobs[JobIndex(0)].facts.work_ns /= 2;
  EXPECT_EQ(machines_for(job_trace, 0.8), 2u);
  const JobTrace twice = hurried(job_trace, 0.8);
  EXPECT_NEAR(schedule::to_seconds(twice.jobs[JobIndex(1)].facts.submit_ns), 5 * 3600, 1);
  EXPECT_EQ(twice.jobs[JobIndex(1)].facts.deadline_ns - twice.jobs[JobIndex(1)].facts.submit_ns, 5);
}

TEST(Flow, IsShorterOnAverageThanAnyOther) {
  PolicyTableOptions options;
  options.policies = {"fifo", "srtf", "srsf", "las", "optimus"};
  options.threads = 2;
  const auto cells =
      run_policy_table({{"synthetic", generate({.jobs = 200, .rate_per_h = 100, .seed = 3})}}, options, {});
  ASSERT_TRUE(cells.has_value()) << cells.error().to_string();
  ASSERT_EQ(cells->size(), 2u);
  EXPECT_GT((*cells)[0].gpus, (*cells)[1].gpus);
  for (const PolicyCell& cell : *cells) {
    EXPECT_EQ(cell.runs.back().policy, "flow");
    for (std::size_t p = 0; p + 1 < cell.runs.size(); ++p) {
      EXPECT_EQ(cell.runs[p].jobs, cell.runs.back().jobs);
      EXPECT_LT(cell.runs.back().mean_s, cell.runs[p].mean_s) << cell.runs[p].policy;
    }
  }
  EXPECT_EQ(winners_table(*cells).rows(), 2u);
  EXPECT_EQ(all_table(*cells).rows(), 12u);
}

}  // namespace
}  // namespace orrery::lab
