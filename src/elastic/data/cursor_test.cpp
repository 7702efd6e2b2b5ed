#include "elastic/data/cursor.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::elastic {
namespace {

RC_GTEST_PROP(Permutation, HasEverySampleOnce, ()) {
  const auto n = *rc::gen::inRange<std::uint64_t>(1, 3000);
  const Permutation order(n, *rc::gen::arbitrary<std::uint64_t>());
  std::vector<int> seen(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    RC_ASSERT(order.sample(i) < n);
    RC_ASSERT(++seen[order.sample(i)] == 1);
  }
}

TEST(Permutation, IsShuffledAndDiffersBySeed) {
  constexpr std::uint64_t kSamples = 60'000;
  const Permutation a(kSamples, 1), b(kSamples, 2);
  // In a random order one sample is expected to stay where it is; neighbours are n/3 apart on average.
  int fixed = 0, same = 0;
  double jumps = 0;
  for (std::uint64_t i = 0; i + 1 < kSamples; ++i) {
    fixed += a.sample(i) == i;
    same += a.sample(i) == b.sample(i);
    jumps += std::abs(static_cast<double>(a.sample(i)) - static_cast<double>(a.sample(i + 1)));
  }
  EXPECT_LT(fixed, 10);
  EXPECT_LT(same, 10);
  EXPECT_NEAR(jumps / kSamples, kSamples / 3.0, kSamples / 60.0);
}

TEST(Permutation, IsTheSameEverywhere) {
  const Permutation order(10, 7);
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < 10; ++i) samples.push_back(order.sample(i));
  const Permutation again(10, 7);
  for (std::uint64_t i = 0; i < 10; ++i) EXPECT_EQ(again.sample(i), samples[i]);
}

// Any history of batch sizes, ranks and shares uses every sample once per epoch.
RC_GTEST_PROP(DataCursor, EverySampleIsUsedOncePerEpochWhateverTheHistory, ()) {
  DataCursor cursor{.samples = *rc::gen::inRange<std::uint64_t>(1, 200), .seed = *rc::gen::arbitrary<std::uint64_t>()};
  std::vector<int> uses(cursor.samples);
  std::uint64_t epoch = 0;
  while (cursor.epoch < 3) {
    RC_ASSERT(check(cursor).has_value());
    if (cursor.epoch != epoch) {
      RC_ASSERT(std::all_of(uses.begin(), uses.end(), [](int count) { return count == 1; }));
      std::fill(uses.begin(), uses.end(), 0);
      epoch = cursor.epoch;
    }
    const auto batch = *rc::gen::inRange<std::uint64_t>(0, 70);
    auto shares =
        *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 9)));
    shares[0] += 1;
    const Permutation order = order_of(cursor);
    const DataRange range = next_batch(cursor, batch);
    std::uint64_t at = range.begin;
    for (const DataRange& part : split_batch(range, shares)) {
      RC_ASSERT(part.begin == at && part.end >= at);
      for (; at < part.end; ++at) ++uses[order.sample(at)];
    }
    RC_ASSERT(at == range.end);
    cursor = advanced(cursor, batch);
  }
}

TEST(DataCursor, SharesAreRespected) {
  // 10 samples, shares 1 : 3 : 1 → 2, 6, 2.
  const std::vector<std::uint64_t> shares = {1, 3, 1};
  EXPECT_EQ(split_batch({100, 110}, shares), (std::vector<DataRange>{{100, 102}, {102, 108}, {108, 110}}));
}

TEST(DataCursor, OutsideItsDataItIsRefused) {
  EXPECT_FALSE(check(DataCursor{.samples = 0}));
  EXPECT_FALSE(check(DataCursor{.samples = 5, .offset = 5}));
  EXPECT_TRUE(check(DataCursor{.samples = 5, .offset = 4}));
}

}  // namespace
}  // namespace orrery::elastic
