#include "trace/bursts.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace orrery::trace {
namespace {

ResourceSeries series_of(const std::vector<double>& values, double step_s = 1) {
  ResourceSeries series{"gpu", "%", {}, values};
  for (std::size_t i = 0; i < values.size(); ++i) series.times.emplace_back(step_s * static_cast<double>(i));
  return series;
}

// Around the means of both sides, for a cut behind the k smallest.
double squares_around_means(const std::vector<double>& sorted, std::size_t k) {
  double total = 0;
  for (const auto& [from, to] : {std::pair<std::size_t, std::size_t>{0, k}, {k, sorted.size()}}) {
    double mean = 0;
    for (std::size_t i = from; i < to; ++i) mean += sorted[i] / static_cast<double>(to - from);
    for (std::size_t i = from; i < to; ++i) total += (sorted[i] - mean) * (sorted[i] - mean);
  }
  return total;
}

TEST(TwoMeansTest, EqualsEveryCutTriedOn10000Series) {
  std::mt19937_64 random(20240607);
  for (int n = 0; n < 10'000; ++n) {
    std::vector<double> values(2 + random() % 30);
    const bool whole = random() % 2 == 0;
    for (double& v : values) {
      v = whole ? static_cast<double>(random() % 12) : std::ldexp(static_cast<double>(random() >> 11), -46);
    }
    const auto found = two_means(values);
    std::sort(values.begin(), values.end());
    double best = INFINITY;
    for (std::size_t k = 1; k < values.size(); ++k) {
      if (values[k - 1] < values[k]) best = std::min(best, squares_around_means(values, k));
    }
    ASSERT_EQ(found.has_value(), std::isfinite(best)) << "series " << n;
    if (!found) continue;
    const double tolerance = 1e-9 * (1 + best);
    ASSERT_NEAR(found->within, best, tolerance) << "series " << n;
    ASSERT_NEAR(squares_around_means(values, found->low_count), best, tolerance) << "series " << n;
    ASSERT_EQ(values[found->low_count - 1], found->low_largest);
    ASSERT_EQ(values[found->low_count], found->high_smallest);
  }
}

TEST(BurstsTest, RunsCutOffByTheWindowDoNotCount) {
  // 90 for 2 | 10 for 3, 90 for 2, 10 for 1, 90 for 4 | 10 for 1: inner bursts 2 and 4, inner idles 3 and 1 s.
  const auto found = find_bursts(series_of({90, 90, 10, 10, 10, 90, 90, 10, 90, 90, 90, 90, 10}),
                                 {.trim = false, .iteration = Seconds(10)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pattern, BurstPattern::kAlternating);
  EXPECT_DOUBLE_EQ(found->idle_centre, 10);
  EXPECT_DOUBLE_EQ(found->burst_centre, 90);
  EXPECT_DOUBLE_EQ(found->burst_duration.value(), 3);
  EXPECT_DOUBLE_EQ(found->idle_duration.value(), 2);
  EXPECT_DOUBLE_EQ(found->cycle.value(), 5);
  EXPECT_DOUBLE_EQ(*found->cycles_per_iteration, 2);
  EXPECT_EQ(found->bursts, 3u);
  EXPECT_EQ(found->idles, 3u);
}

TEST(BurstsTest, OneLevelHasNoOtherDuration) {
  const auto burst = find_bursts(series_of({97, 98, 99, 98}), {.trim = false});
  ASSERT_TRUE(burst);
  EXPECT_EQ(burst->pattern, BurstPattern::kBurst);
  EXPECT_DOUBLE_EQ(burst->burst_centre, 98);
  EXPECT_DOUBLE_EQ(burst->burst_duration.value(), 3);
  EXPECT_DOUBLE_EQ(burst->idle_duration.value(), 0);
  const auto idle = find_bursts(series_of({3, 3, 3}));
  ASSERT_TRUE(idle);
  EXPECT_EQ(idle->pattern, BurstPattern::kIdle);
  EXPECT_DOUBLE_EQ(idle->burst_duration.value(), 0);
  EXPECT_EQ(to_string(idle->pattern), "I");
  ASSERT_TRUE(find_bursts(series_of({50})));
}

TEST(BurstsTest, StartUpAndQuietEndsAreTrimmed) {
  // Quiet, a short sign of life, quiet for 20 of 100 s, then training, then quiet.
  std::vector<double> values(5, 0);
  values.push_back(80);
  values.insert(values.end(), 20, 0);
  for (int i = 0; i < 35; ++i) values.insert(values.end(), {40, 60});
  values.insert(values.end(), 4, 0);
  const auto found = find_bursts(series_of(values));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->first, 26u);
  EXPECT_EQ(found->last, 95u);
  EXPECT_DOUBLE_EQ(found->idle_centre, 40);
}

TEST(BurstsTest, RepeatedReadingsGiveTheResolution) {
  // Polled every 0.1 s, refreshed every 0.2 s.
  std::vector<double> values;
  for (const double v : {10, 90, 12, 88, 11, 91, 10, 90}) values.insert(values.end(), 2, v);
  const auto found = find_bursts(series_of(values, 0.1), {.trim = false, .remove_repeats = true});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->resolution.value(), 0.2, 1e-12);
  EXPECT_EQ(found->samples, 8u);
  EXPECT_NEAR(found->cycle.value(), 0.4, 1e-12);
}

TEST(BurstsTest, WrongSeriesAreErrors) {
  EXPECT_FALSE(find_bursts({}));
  EXPECT_FALSE(find_bursts({"x", "", {Seconds(1), Seconds(0)}, {1, 2}}));
  EXPECT_FALSE(find_bursts({"x", "", {Seconds(1), Seconds(2)}, {1, NAN}}));
}

}  // namespace
}  // namespace orrery::trace
