// Our own policy on the simulated cluster, and the table it stands in.

#include "simulate/experiment/policy_table.h"
#include "simulate/generate.h"
#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

// More jobs than GPUs: one by one, the shortest first.
TEST(Flow, TheShortestRunsFirst) {
  EXPECT_EQ(ends_s(run(workload_of({job_of(0, 100, 1), job_of(0, 10, 1)}), setup_of(1, 1), "flow")),
            (std::vector<TimeNs>{110, 10}));
}

// Alone a job gets all it can use: four times the GPU it asked for, where a step takes 0.97 / 4 + 0.03 of one.
TEST(Flow, AloneAJobGetsAllItCanUse) {
  EXPECT_EQ(ends_s(run(workload_of({job_of(0, 1000, 1)}), setup_of(1, 8), "flow")), (std::vector<TimeNs>{272}));
}

TEST(Flow, IsShorterOnAverageThanAnyOther) {
  PolicyTableOptions options;
  options.policies = {"fifo", "srtf", "srsf", "las", "optimus"};
  options.threads = 2;
  const auto cells =
      run_policy_table({{"made up", generate({.jobs = 200, .rate_per_h = 100, .seed = 3})}}, options, {});
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
}  // namespace orrery::simulate
