// Lucid's classes, Muri's groups.

#include <gtest/gtest.h>

#include "schedule/policies/lucid.h"
#include "schedule/policies/muri_groups.h"

namespace orrery::schedule {
namespace {

TEST(LucidClasses, AddUpToTwo) {
  EXPECT_EQ(lucid_class(0.1), 0);
  EXPECT_EQ(lucid_class(0.4), 1);
  EXPECT_EQ(lucid_class(0.9), 2);
  EXPECT_TRUE(lucid_packs(1, 1));
  EXPECT_TRUE(lucid_packs(0, 2));
  EXPECT_FALSE(lucid_packs(1, 2));
}

// Two resources. One job needs 3 + 1, the other 1 + 3: while one uses the first resource for 3, the other uses the
// second for 3: T = 3 + 1 = 4, where turns take 8. Nobody ever waits.
TEST(MuriGroups, ByHand) {
  const std::vector<StageTimes> jobs = {{3, 1}, {1, 3}, {3, 1}};
  const Interleaving best = interleave({jobs[0], jobs[1]});
  EXPECT_DOUBLE_EQ(best.period_s, 4);
  EXPECT_DOUBLE_EQ(efficiency({jobs[0], jobs[1]}, 4), 1);
  // Two that want the same: T = max(3, 1) + max(1, 3) = 6.
  EXPECT_DOUBLE_EQ(interleave({jobs[0], jobs[2]}).period_s, 6);
  EXPECT_EQ(muri_groups(jobs, 2), (std::vector<std::vector<int>>{{0, 1}, {2}}));
}

// Four jobs, each on another of four resources: all together take as long as one.
TEST(MuriGroups, FourFitTogether) {
  std::vector<StageTimes> jobs(4, StageTimes(4, 0));
  for (std::size_t j = 0; j < 4; ++j) jobs[j][j] = 2;
  const auto groups = muri_groups(jobs, 4);
  ASSERT_EQ(groups.size(), 1u);
  std::vector<StageTimes> ordered;
  for (const int job : groups[0]) ordered.push_back(jobs[static_cast<std::size_t>(job)]);
  EXPECT_DOUBLE_EQ(interleave(ordered).period_s, 2);
  EXPECT_EQ(muri_groups(jobs, 1).size(), 4u);
  // Jobs that only use the GPU stay alone.
  EXPECT_EQ(muri_groups({{0, 5, 0}, {0, 5, 0}, {0, 4, 0}}, 3).size(), 3u);
}

}  // namespace
}  // namespace orrery::schedule
