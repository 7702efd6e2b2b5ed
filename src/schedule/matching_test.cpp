#include "schedule/matching.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::schedule {
namespace {

using Weights = std::vector<std::vector<std::int64_t>>;

std::int64_t by_trying(const Weights& weights, std::vector<bool>& taken, std::size_t from) {
  while (from < weights.size() && taken[from]) ++from;
  if (from == weights.size()) return 0;
  taken[from] = true;
  std::int64_t best = by_trying(weights, taken, from + 1);
  for (std::size_t other = from + 1; other < weights.size(); ++other) {
    if (taken[other] || weights[from][other] == 0) continue;
    taken[other] = true;
    best = std::max(best, weights[from][other] + by_trying(weights, taken, from + 1));
    taken[other] = false;
  }
  taken[from] = false;
  return best;
}

Weights synthetic(std::uint64_t seed) {
  Random random(seed);
  const std::size_t count = 2 + random.below(9);
  Weights weights(count, std::vector<std::int64_t>(count, 0));
  const std::uint64_t most = 1 + random.below(30), density = 1 + random.below(4);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) {
      if (random.below(4) < density) weights[a][b] = weights[b][a] = static_cast<std::int64_t>(random.below(most + 1));
    }
  }
  return weights;
}

void expect_sound(const Weights& weights, const Matching& matching) {
  std::int64_t sum = 0;
  for (std::size_t a = 0; a < weights.size(); ++a) {
    const int b = matching.partner[a];
    if (b < 0) continue;
    EXPECT_EQ(matching.partner[static_cast<std::size_t>(b)], static_cast<int>(a));
    sum += weights[a][static_cast<std::size_t>(b)];
  }
  EXPECT_EQ(sum, 2 * matching.weight);
}

// The heaviest edge is in the middle of a path 4, 5, 4: the best leaves it out.
TEST(MatchingTest, ByHand) {
  const Weights path = {{0, 4, 0, 0}, {4, 0, 5, 0}, {0, 5, 0, 4}, {0, 0, 4, 0}};
  EXPECT_EQ(best_matching(path).weight, 8);
  EXPECT_EQ(greedy_matching(path).weight, 5);
  EXPECT_EQ(pair_in_order(path, {0, 1, 2, 3}).weight, 8);
  EXPECT_EQ(pair_in_order(path, {1, 0, 2, 3}).weight, 5);
  EXPECT_EQ(best_matching({}).weight, 0);
  EXPECT_EQ(best_matching({{0}}).partner, std::vector<int>{-1});
}

TEST(MatchingTest, IsTheBestOfAll) {
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Weights weights = synthetic(seed);
    std::vector<bool> taken(weights.size(), false);
    const Matching best = best_matching(weights), greedy = greedy_matching(weights);
    EXPECT_EQ(best.weight, by_trying(weights, taken, 0)) << seed;
    EXPECT_GE(2 * greedy.weight, best.weight) << seed;
    expect_sound(weights, best);
    expect_sound(weights, greedy);
  }
}

}  // namespace
}  // namespace orrery::schedule
