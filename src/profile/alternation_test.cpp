#include "profile/alternation.h"

#include <cmath>
#include <gtest/gtest.h>

namespace orrery::profile {
namespace {

// A reading every 10 ms of a link that starts to send `bytes` at 25 MB/s every second, at 0.3 s.
trace::ResourceSeries square_wave(int seconds, double bytes, double phase_s) {
  trace::ResourceSeries series{"transmit", "B/s", {}, {}};
  constexpr double kRate = 25e6, kPeriod = 0.01;
  const auto sent = [&](double time) {
    const double second = std::floor(time - phase_s);
    return second < 0 ? 0 : second * bytes + std::min(bytes, (time - phase_s - second) * kRate);
  };
  for (int i = 0; i < seconds * 100; ++i) {
    const double time = i * kPeriod;
    series.times.push_back(Seconds(time));
    series.values.push_back((sent(time + kPeriod) - sent(time)) / kPeriod);
  }
  return series;
}

TEST(Alternation, HoldWhatWasSent) {
  for (const double phase : {0.3, 0.303, 0.307}) {
    const auto found = alternation(square_wave(6, 10.1e6, phase), Seconds(0), Seconds(6));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->pattern, trace::BurstPattern::kAlternating);
    EXPECT_EQ(found->count, 6U);
    EXPECT_NEAR(found->sum, 10.1e6, 10.1e6 * 1e-6);
    EXPECT_NEAR(found->idle.value(), 1 - 10.1 / 25, 0.021);
    EXPECT_NEAR(found->burst.value(), 10.1 / 25, 0.021);
  }
}

TEST(Alternation, APauseDoesNotEndABurst) {
  trace::ResourceSeries series = square_wave(4, 10e6, 0.3);
  series.values[145] = series.values[146] = 0;
  const auto found = alternation(series, Seconds(0), Seconds(4));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 4U);
  EXPECT_NEAR(found->sum, 10e6, 1);
}

TEST(Alternation, AStallThatBreaksOneBurstDoesNotShrinkTheOthers) {
  trace::ResourceSeries series = square_wave(5, 10e6, 0.3);
  for (std::size_t i = 140; i < 162; ++i) series.values[i] = 0;
  const auto found = alternation(series, Seconds(0), Seconds(5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 6U);
  EXPECT_NEAR(found->sum, 10e6, 1);
}

// Half of the burst at a third of the rate: other senders share the link.
TEST(Alternation, AShareOfTheLinkIsPartOfTheBurst) {
  trace::ResourceSeries series = square_wave(4, 10e6, 0.3);
  double sent = 0;
  for (std::size_t i = 0; i < series.values.size(); ++i) {
    if (i % 100 < 50) series.values[i] /= 3;
    sent += series.values[i] * 0.01;
  }
  const auto found = alternation(series, Seconds(0), Seconds(4));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 4U);
  EXPECT_NEAR(found->sum, sent / 4, 10);
}

TEST(Alternation, ACutOffBurstDoesNotCount) {
  const auto found = alternation(square_wave(4, 10e6, 0.3), Seconds(0.5), Seconds(3.5));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 2U);
  EXPECT_NEAR(found->sum, 10e6, 10);
}

TEST(Alternation, ASilentLinkHasNone) {
  const auto found = alternation(square_wave(2, 0, 0), Seconds(0), Seconds(2));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pattern, trace::BurstPattern::kIdle);
  EXPECT_EQ(found->count, 0U);
}

TEST(Alternation, OfOneLevelIsThatLevel) {
  trace::ResourceSeries series{"memory", "B", {}, {}};
  for (int i = 0; i < 100; ++i) {
    series.times.push_back(Seconds(i * 0.01));
    series.values.push_back(300e6);
  }
  const auto found = alternation(series, Seconds(0), Seconds(1), 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->pattern, trace::BurstPattern::kBurst);
  EXPECT_EQ(found->amount, 300e6);
  EXPECT_EQ(found->burst, Seconds(0));
}

}  // namespace
}  // namespace orrery::profile
