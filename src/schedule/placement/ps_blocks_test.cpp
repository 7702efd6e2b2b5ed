#include "schedule/placement/ps_blocks.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "base/random.h"

namespace orrery::schedule {
namespace {

std::vector<std::int64_t> loads_of(const std::vector<PsPiece>& pieces, std::size_t servers) {
  std::vector<std::int64_t> loads(servers, 0);
  for (const PsPiece& piece : pieces) loads[piece.server] += piece.size;
  return loads;
}

TEST(PsBlocks, ALargeBlockIsCutAndSmallOnesFillUp) {
  // All 100, on two servers 50 each. The block of 80: 50 on the first, 30 on the second. 15 fits best beside the 30.
  const std::vector<std::int64_t> sizes = {15, 80, 5};
  const std::vector<PsPiece> pieces = assign_blocks(sizes, 2);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0].block, 1u);
  EXPECT_EQ(pieces[0].size, 50);
  EXPECT_EQ(loads_of(pieces, 2), (std::vector<std::int64_t>{50, 50}));
}

TEST(PsBlocks, EveryParameterIsHeldOnceAndNoServerHasMuchMoreThanItsShare) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    std::vector<std::int64_t> sizes;
    // Networks: many small blocks, a few that are larger than a server's share.
    for (int b = 0; b < 60; ++b) sizes.push_back(static_cast<std::int64_t>(std::exp(random.uniform(0, 17))));
    const std::size_t servers = 1 + random.below(12);
    const std::vector<PsPiece> pieces = assign_blocks(sizes, servers);
    std::vector<std::int64_t> held(sizes.size(), 0);
    for (const PsPiece& piece : pieces) held[piece.block] += piece.size;
    EXPECT_EQ(held, sizes) << "seed " << seed;
    const auto loads = loads_of(pieces, servers);
    const double all = std::accumulate(loads.begin(), loads.end(), 0.0), share = all / static_cast<double>(servers);
    EXPECT_LE(static_cast<double>(*std::max_element(loads.begin(), loads.end())), share * 1.6 + 1) << "seed " << seed;
    // Whole blocks in turn, as other systems distribute them, are never more even.
    std::vector<std::int64_t> in_turn(servers, 0);
    for (std::size_t b = 0; b < sizes.size(); ++b) in_turn[b % servers] += sizes[b];
    EXPECT_LE(*std::max_element(loads.begin(), loads.end()), *std::max_element(in_turn.begin(), in_turn.end()));
  }
}

TEST(PsBlocks, WithoutParametersThereIsNothingToHold) {
  EXPECT_TRUE(assign_blocks({}, 3).empty());
}

}  // namespace
}  // namespace orrery::schedule
