#include "elastic/net/choice.h"

#include <algorithm>
#include <gtest/gtest.h>

namespace orrery::elastic::net {
namespace {

constexpr std::uint64_t kChunk = 256 << 10;
constexpr std::size_t kLargest = Choice::kSizes.size() - 1;

Algorithm picked(const Choice& choice, std::uint64_t bytes) {
  return choice.pick({Collective::kAllReduce, DataType::kI8, ReduceOp::kSum, 0, bytes});
}

double& at(Choice::Times& times, std::size_t size, Algorithm algorithm) {
  return times[size][static_cast<std::size_t>(algorithm)];
}

// Small tensors fit into the buffers of a network, so that all algorithms take the same time: 1 ms.
Choice::Times times_of_a_bursty_network(const Choice& choice) {
  Choice::Times times{};
  for (std::size_t size = 0; size < kLargest; ++size) {
    for (const Algorithm algorithm : choice.candidates(size)) at(times, size, algorithm) = 0.001;
  }
  return times;
}

TEST(NetChoice, OfLargeTensorsOnlyThoseAreMeasuredThatMoveFewBytes) {
  const Choice choice(4, kChunk);
  EXPECT_EQ(choice.candidates(0).size(), kAlgorithms - 1);  // there is no given tree
  const auto large = choice.candidates(kLargest);
  for (const Algorithm algorithm : {Algorithm::kClique, Algorithm::kRing, Algorithm::kHalvingDoubling}) {
    EXPECT_NE(std::find(large.begin(), large.end(), algorithm), large.end()) << to_string(algorithm);
  }
  EXPECT_EQ(std::find(large.begin(), large.end(), Algorithm::kStar), large.end());
}

TEST(NetChoice, AGivenTreeIsMeasuredHoweverManyBytesItMoves) {
  const Choice choice(4, kChunk, {-1, 0, 0, 0});
  const auto large = choice.candidates(kLargest);
  EXPECT_EQ(large.back(), Algorithm::kGivenTree);
  const auto around_slow_links = choice.candidates(kLargest, true);
  EXPECT_EQ(around_slow_links.front(), Algorithm::kGivenTree);
  EXPECT_EQ(around_slow_links.size(), large.size());
}

TEST(NetChoice, AlgorithmsThatWereNotMeasuredTakeTheTimeOfTheirBytes) {
  Choice choice(3, kChunk);
  Choice::Times times = times_of_a_bursty_network(choice);
  at(times, 0, Algorithm::kStar) = at(times, 1, Algorithm::kStar) = 0.0001;
  at(times, kLargest, Algorithm::kRing) = 0.006;
  choice.learn(times);
  EXPECT_EQ(picked(choice, 16 << 10), Algorithm::kStar);
  EXPECT_EQ(picked(choice, 64 << 20), Algorithm::kRing);
  // A star's root has 2·S to send and to receive, a rank of the ring 4/3·S.
  EXPECT_NEAR(choice.seconds(Algorithm::kStar, Choice::kSizes[kLargest]), 0.009, 1e-4);
}

TEST(NetChoice, LargeTensorsGoByTheRingUnlessItIsClearlySlower) {
  for (const double ring : {0.0063, 0.008}) {
    Choice choice(3, kChunk);
    Choice::Times times = times_of_a_bursty_network(choice);
    for (const Algorithm algorithm : choice.candidates(kLargest)) at(times, kLargest, algorithm) = 0.006;
    at(times, kLargest, Algorithm::kRing) = ring;
    choice.learn(times);
    EXPECT_EQ(picked(choice, 4 << 20) == Algorithm::kRing, ring < 0.007);
    EXPECT_NE(picked(choice, Choice::kSizes[kLargest]), Algorithm::kRing);
  }
}

// A tree's root has twice the bytes: it has to be faster by more than that, as it is when it avoids a slow link.
TEST(NetChoice, LargeTensorsGoByATreeOnlyAroundASlowLink) {
  for (const double tree : {0.004, 0.0005}) {
    Choice choice(4, kChunk, {1, -1, 1, 1});
    Choice::Times times = times_of_a_bursty_network(choice);
    for (const Algorithm algorithm : choice.candidates(kLargest)) at(times, kLargest, algorithm) = 0.006;
    at(times, kLargest, Algorithm::kGivenTree) = tree;
    at(times, 1, Algorithm::kGivenTree) = std::min(tree, 0.001);
    choice.learn(times);
    EXPECT_EQ(picked(choice, 4 << 20), tree < 0.001 ? Algorithm::kGivenTree : Algorithm::kRing);
  }
}

TEST(NetChoice, WhereNothingWasMeasuredTimesGoOnAsTheyGrew) {
  Choice choice(4, kChunk, {1, -1, 1, 1});
  Choice::Times times = times_of_a_bursty_network(choice);
  // All but the tree use a slow link.
  for (const Algorithm algorithm : choice.candidates(1)) at(times, 1, algorithm) = 0.05;
  at(times, 1, Algorithm::kGivenTree) = 0.002;
  choice.learn(times);
  EXPECT_EQ(picked(choice, 64 << 20), Algorithm::kGivenTree);
}

}  // namespace
}  // namespace orrery::elastic::net
