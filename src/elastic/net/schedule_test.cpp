// Costs as counted on the schedules are those of the formulas in the headers and in docs/reference/collectives.md.

#include "elastic/net/schedule.h"

#include <bit>
#include <gtest/gtest.h>

#include "elastic/net/algorithm.h"
#include "elastic/net/algorithms/trees.h"

namespace orrery::elastic::net {
namespace {

// Divides by all of 2 … 9 into whole units of 64 elements.
constexpr std::uint64_t kBytes = 64 * 5040;

Cost cost(Algorithm algorithm, Collective collective, int ranks, std::span<const int> parents = {}) {
  const Descriptor what = {collective, DataType::kI8, ReduceOp::kSum, 0, kBytes};
  const auto counted = cost_of(algorithm, {what, 0, ranks, 1 << 30, parents});
  EXPECT_TRUE(counted) << to_string(algorithm) << ": " << counted.error().to_string();
  return counted ? *counted : Cost{};
}

std::uint64_t n_minus_1(int ranks) {
  return static_cast<std::uint64_t>(ranks - 1);
}
std::uint64_t share(int ranks) {  // (n−1)/n·S
  return kBytes * n_minus_1(ranks) / static_cast<std::uint64_t>(ranks);
}
int log2_down(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks)) - 1;
}

TEST(Schedule, ExchangeIsOneStep) {
  for (int n = 2; n <= 9; ++n) {
    const Cost counted = cost(Algorithm::kExchange, Collective::kAllReduce, n);
    EXPECT_EQ(counted.steps, 1);
    EXPECT_EQ(counted.sent_bytes_max, n_minus_1(n) * kBytes);
    EXPECT_EQ(counted.received_bytes_max, n_minus_1(n) * kBytes);
  }
}

TEST(Schedule, CliqueIsTwoStepsWithTheFewestBytes) {
  for (int n = 2; n <= 9; ++n) {
    Cost counted = cost(Algorithm::kClique, Collective::kAllReduce, n);
    EXPECT_EQ(counted.steps, 2);
    EXPECT_EQ(counted.sent_bytes_max, 2 * share(n));
    EXPECT_EQ(counted.received_bytes_max, 2 * share(n));
    counted = cost(Algorithm::kClique, Collective::kReduceScatter, n);
    EXPECT_EQ(counted.steps, 1);
    EXPECT_EQ(counted.sent_bytes_max, share(n));
    counted = cost(Algorithm::kClique, Collective::kAllGather, n);
    EXPECT_EQ(counted.steps, 1);
    EXPECT_EQ(counted.sent_bytes_max, n_minus_1(n) * kBytes);
    counted = cost(Algorithm::kClique, Collective::kGather, n);
    EXPECT_EQ(counted.steps, 1);
    EXPECT_EQ(counted.sent_bytes_max, kBytes);
    EXPECT_EQ(counted.received_bytes_max, n_minus_1(n) * kBytes);
  }
}

TEST(Schedule, RingTakesTwiceAroundWithTheFewestBytes) {
  for (int n = 2; n <= 9; ++n) {
    Cost counted = cost(Algorithm::kRing, Collective::kAllReduce, n);
    EXPECT_EQ(counted.steps, 2 * (n - 1));
    EXPECT_EQ(counted.sent_bytes_max, 2 * share(n));
    EXPECT_EQ(counted.received_bytes_max, 2 * share(n));
    counted = cost(Algorithm::kRing, Collective::kReduceScatter, n);
    EXPECT_EQ(counted.steps, n - 1);
    EXPECT_EQ(counted.sent_bytes_max, share(n));
    counted = cost(Algorithm::kRing, Collective::kAllGather, n);
    EXPECT_EQ(counted.steps, n - 1);
    EXPECT_EQ(counted.sent_bytes_max, n_minus_1(n) * kBytes);
  }
}

TEST(Schedule, HalvingDoublingTakesLogarithmicallyManySteps) {
  for (int n = 2; n <= 9; ++n) {
    const int core = 1 << log2_down(n);
    const Cost counted = cost(Algorithm::kHalvingDoubling, Collective::kAllReduce, n);
    if (core == n) {
      EXPECT_EQ(counted.steps, 2 * log2_down(n));
      EXPECT_EQ(counted.sent_bytes_max, 2 * share(n));
    } else {
      EXPECT_EQ(counted.steps, 2 * log2_down(n) + 2);
      // The even one of a pair also gives the result to the odd one.
      const std::uint64_t of_core = core > 1 ? 2 * (kBytes - kBytes / static_cast<std::uint64_t>(core)) : 0;
      EXPECT_EQ(counted.sent_bytes_max, of_core + kBytes);
    }
  }
}

TEST(Schedule, StarLoadsItsRoot) {
  for (int n = 2; n <= 9; ++n) {
    const Cost counted = cost(Algorithm::kStar, Collective::kAllReduce, n);
    EXPECT_EQ(counted.steps, 2);
    EXPECT_EQ(counted.sent_bytes_max, n_minus_1(n) * kBytes);
    EXPECT_EQ(cost(Algorithm::kStar, Collective::kReduce, n).steps, 1);
    EXPECT_EQ(cost(Algorithm::kStar, Collective::kBroadcast, n).steps, 1);
  }
}

TEST(Schedule, BinaryTreeIsAsDeepAsItsLogarithm) {
  for (int n = 2; n <= 9; ++n) {
    const Cost counted = cost(Algorithm::kBinaryTree, Collective::kAllReduce, n);
    EXPECT_EQ(counted.steps, 2 * log2_down(n));
    EXPECT_LE(counted.sent_bytes_max, 3 * kBytes);
    EXPECT_EQ(cost(Algorithm::kBinaryTree, Collective::kBroadcast, n).steps, log2_down(n));
  }
}

TEST(Schedule, DoubleTreeSharesTheWorkOfInnerRanks) {
  for (int n = 2; n <= 64; ++n) {
    const std::vector<int> first = in_order_parents(n, false), second = in_order_parents(n, true);
    ASSERT_TRUE(check_parents(first)) << n;
    ASSERT_TRUE(check_parents(second)) << n;
    const auto has_children = [](const std::vector<int>& parents, int rank) {
      return std::count(parents.begin(), parents.end(), rank) > 0;
    };
    int in_both = 0;
    for (int rank = 0; rank < n; ++rank) in_both += has_children(first, rank) && has_children(second, rank) ? 1 : 0;
    EXPECT_LE(in_both, n == 2 ? 0 : n % 2) << n;
  }
  for (int n = 2; n <= 9; ++n) {
    const Cost counted = cost(Algorithm::kDoubleTree, Collective::kAllReduce, n);
    const int log2_up = std::bit_width(static_cast<unsigned>(n - 1));
    EXPECT_LE(counted.steps, 2 * log2_up);
    EXPECT_LE(counted.sent_bytes_max, 5 * kBytes / 2);
  }
}

TEST(Schedule, AGivenTreeCostsWhatItsShapeSays) {
  const std::vector<int> chain = {-1, 0, 1, 2, 3};
  const Cost counted = cost(Algorithm::kGivenTree, Collective::kAllReduce, 5, chain);
  EXPECT_EQ(counted.steps, 2 * 4);
  EXPECT_EQ(counted.sent_bytes_max, 2 * kBytes);
}

TEST(Schedule, WhatIsNoTreeIsRefused) {
  const auto message = [](std::vector<int> parents) { return check_parents(parents).error().message(); };
  EXPECT_EQ(message({-1, 0, -1}), "2 roots; a tree has one");
  EXPECT_EQ(message({-1, 2, 1}), "rank 1 is its own ancestor");
  EXPECT_EQ(message({-1, 3, 1}), "rank 1 has the parent 3 of 3");
  EXPECT_EQ(message({1, 0}), "rank 0 is its own ancestor");
}

TEST(Schedule, PartsAreWholeCacheLinesNoLongerThanAChunk) {
  const Descriptor what = {Collective::kAllReduce, DataType::kF32, ReduceOp::kSum, 0, 1000};
  EXPECT_EQ(part_bytes({what, 0, 2, 1000, {}}), 960u);
  EXPECT_EQ(part_bytes({what, 0, 2, 1, {}}), 64u);
  Schedule schedule;
  make_schedule(Algorithm::kExchange, {what, 0, 2, 1000, {}}, schedule);
  ASSERT_EQ(schedule.parts(), 5u);  // 4000 bytes: four times 960, and 160
  EXPECT_EQ(schedule.range(4), (Range{3840, 4000}));
}

TEST(Schedule, OnesThatDoNotFitTogetherAreNoticed) {
  std::vector<Schedule> schedules(2);
  for (Schedule& schedule : schedules) schedule.begin_part({0, 64});
  schedules[0].copy(1);
  schedules[1].copy(0);
  EXPECT_EQ(cost_of(schedules).error().message(), "part 0: rank 0 waits for ever");
  schedules[0].clear();
  schedules[1].clear();
  for (Schedule& schedule : schedules) schedule.begin_part({0, 64});
  schedules[0].send(1);
  EXPECT_EQ(cost_of(schedules).error().message(), "part 0: rank 1 never takes what rank 0 sends");
}

}  // namespace
}  // namespace orrery::elastic::net
