#include "elastic/net/best_tree.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "elastic/net/algorithms/trees.h"

namespace orrery::elastic::net {
namespace {

constexpr double kFast = 0.001, kSlow = 0.1;

bool uses(const std::vector<int>& parents, int a, int b) {
  return parents[static_cast<std::size_t>(a)] == b || parents[static_cast<std::size_t>(b)] == a;
}

TEST(BestTree, ASlowLinkIsNotInIt) {
  for (int ranks = 3; ranks <= 9; ++ranks) {
    for (int from = 0; from < ranks; ++from) {
      const int to = (from + 1) % ranks;
      std::vector<double> seconds(static_cast<std::size_t>(ranks * ranks), kFast);
      seconds[static_cast<std::size_t>(to * ranks + from)] = kSlow;
      const std::vector<int> tree = best_tree(seconds, ranks);
      ASSERT_TRUE(check_parents(tree));
      EXPECT_FALSE(uses(tree, from, to)) << ranks << " ranks, slow from " << from << " to " << to;
    }
  }
}

TEST(BestTree, AHostWithSlowLinksIsALeaf) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (int slow = 0; slow < ranks; ++slow) {
      std::vector<double> seconds(static_cast<std::size_t>(ranks * ranks), kFast);
      for (int to = 0; to < ranks; ++to) seconds[static_cast<std::size_t>(to * ranks + slow)] = kSlow;
      const std::vector<int> tree = best_tree(seconds, ranks);
      ASSERT_TRUE(check_parents(tree));
      const auto children = std::count(tree.begin(), tree.end(), slow);
      EXPECT_LE(children, ranks == 2 ? 1 : 0);
    }
  }
}

TEST(BestTree, OneSlowLinkIsFoundAmongMany) {
  for (int ranks = 3; ranks <= 9; ++ranks) {
    std::vector<double> seconds(static_cast<std::size_t>(ranks * ranks), kFast);
    for (int rank = 0; rank < ranks; ++rank) seconds[static_cast<std::size_t>(rank * ranks + rank)] = 0;
    EXPECT_FALSE(has_slow_links(seconds, ranks));
    seconds[1] = 3 * kFast;
    EXPECT_FALSE(has_slow_links(seconds, ranks)) << "that may be noise";
    seconds[1] = kSlow;
    EXPECT_TRUE(has_slow_links(seconds, ranks));
  }
}

TEST(BestTree, NoOtherOfThoseTriedIsFaster) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    const int ranks = 2 + static_cast<int>(random.below(8));
    std::vector<double> seconds(static_cast<std::size_t>(ranks * ranks));
    for (double& link : seconds) link = random.uniform(1e-4, 1e-1);
    const double best = seconds_of_tree(best_tree(seconds, ranks), seconds);
    for (int root = 0; root < ranks; ++root) {
      EXPECT_LE(best, seconds_of_tree(star_parents(ranks, root), seconds));
    }
  }
}

}  // namespace
}  // namespace orrery::elastic::net
