// Estimates of waits from the pace of a queue.

#include "simulate/estimate/queue_pace.h"

#include <cmath>
#include <gtest/gtest.h>

namespace orrery::simulate {
namespace {

// At 100 s five GPUs are waited for. Backwards: 1 at 90 s, 3 more at 70 s, 2 more at 40 s: 60 s for five.
TEST(QueuePace, CountsBackUntilAsManyGpusHaveStarted) {
  const Started started[] = {{10, 1, 8}, {40, 5, 2}, {70, 30, 3}, {90, 45, 1}};
  const QueuePace pace = pace_of(started, 100, 5);
  EXPECT_EQ(pace.drain_s, 60);
  EXPECT_EQ(pace.last_s, 45);
  EXPECT_FALSE(pace_of(started, 100, 15).drain_s.has_value());
  EXPECT_FALSE(pace_of({}, 100, 1).last_s.has_value());
}

// Before anything is known, the mean in logarithms of 60 s + wait: (60 + 180) and (60 + 900) give 480.
TEST(PaceMixer, AllWeighTheSameAtFirst) {
  const Quantiles mixed = PaceMixer().mixed({60, 180, 420}, {.last_s = 900});
  EXPECT_NEAR(mixed.middle, 480 - 60, 1e-9);
  // The interval moves with it: twice (60 + 60), twice (60 + 420).
  EXPECT_NEAR(mixed.low, 240 - 60, 1e-9);
  EXPECT_NEAR(mixed.high, 960 - 60, 1e-9);
  EXPECT_NEAR(PaceMixer().mixed({60, 180, 420}, {}).middle, 180, 1e-9);
}

// Simulations were exact and the queue off by a factor of e: weights of 1 / 0.05^2 and 1 / 1.05^2.
TEST(PaceMixer, TheMostAccurateEstimateWeighsMost) {
  PaceMixer mixer;
  for (std::size_t n = 0; n < PaceMixer::kCasesMin; ++n) mixer.learn(240, {.drain_s = 300 * std::exp(1.0) - 60}, 240);
  const double ours = std::pow(0.05, -2), queue = std::pow(1.05, -2);
  const double expected = std::exp((ours * std::log(160) + queue * std::log(1060)) / (ours + queue)) - 60;
  EXPECT_NEAR(mixer.mixed({50, 100, 200}, {.drain_s = 1000}).middle, expected, 1e-6);
}

}  // namespace
}  // namespace orrery::simulate
