#include "predict/driple/resource_metrics.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck.h>

namespace orrery::predict {
namespace {

BurstMetrics burst(double idle, double duration, double amount) {
  return {Seconds(idle), Seconds(duration), amount};
}

// Received bytes of a translation model: 374.3 MB/s for 0.33 s, then 0.7 s of idling at 4.5 MB/s.
//   cycle 1.03 s; duty 0.33 / 1.03; load (0.33 · 374.3 + 0.7 · 4.5) / 1.03 = 122.98 MB/s; 123.5 MB per iteration
TEST(Metrics, FollowFromBurstAndIdle) {
  BurstMetrics receive = burst(0.7, 0.33, 374.3e6);
  receive.idle_level = 4.5e6;
  EXPECT_NEAR(cycle_time(receive).value(), 1.03, 1e-12);
  EXPECT_NEAR(duty(receive), 0.33 / 1.03, 1e-12);
  EXPECT_NEAR(mean_load(receive), (0.33 * 374.3e6 + 0.7 * 4.5e6) / 1.03, 1e-3);
  EXPECT_NEAR(bytes_per_iteration(receive).value(), 0.33 * 374.3e6, 1e-3);
  EXPECT_EQ(mean_load(burst(0, 0, 50)), 0);
}

TEST(Metrics, ComeFromAnswersInPublishedOrder) {
  std::vector<double> answer(kMetrics, 0.5), maxima(kMetrics, 2);
  answer[0] = -0.01;                                      // idle time of the GPU's memory
  maxima[5] = 100;                                        // amount of the GPU
  answer[8] = 0.25, maxima[8] = 400e6, maxima[7] = 0.66;  // received
  const ResourceMetrics metrics = resource_metrics(answer, maxima).value();
  EXPECT_EQ(metrics[0].idle.value(), 0);
  EXPECT_EQ(metrics[0].burst.value(), 1);
  EXPECT_EQ(metrics[static_cast<std::size_t>(Resource::kGpu)].amount, 50);
  EXPECT_EQ(metrics[static_cast<std::size_t>(Resource::kReceive)].amount, 100e6);
  EXPECT_EQ(metrics[static_cast<std::size_t>(Resource::kReceive)].burst.value(), 0.33);
  EXPECT_FALSE(resource_metrics(answer, std::vector<double>(3)).has_value());
  answer[3] = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(resource_metrics(answer, maxima).has_value());
}

// Both burst half of the time at 80 of 100. Independent: both at once a quarter of the time, 60 too much; demand is
// 80 on average: 1 − 0.25 · 60 / 80 = 0.8125. Interleaved: never at once.
TEST(Metrics, JobsWhoseBurstsMeetAreLessCompatible) {
  const BurstMetrics job = burst(1, 1, 80);
  EXPECT_NEAR(compatibility(job, job, 100, Phases::kIndependent), 0.8125, 1e-12);
  EXPECT_NEAR(compatibility(job, job, 100, Phases::kInterleaved), 1, 1e-12);
  // Three quarters each: at least half of the time both, 60 too much; demand 120: 1 − 0.5 · 60 / 120.
  const BurstMetrics busy = burst(1, 3, 80);
  EXPECT_NEAR(compatibility(busy, busy, 100, Phases::kInterleaved), 0.75, 1e-12);
  EXPECT_EQ(compatibility(burst(1, 0, 0), burst(1, 0, 0), 100, Phases::kIndependent), 1);
}

TEST(Metrics, ColocationNamesTheResourceThatLimits) {
  ResourceMetrics quiet;
  quiet.fill(burst(3, 1, 10));
  ResourceMetrics talkative = quiet;
  talkative[static_cast<std::size_t>(Resource::kTransmit)] = burst(1, 3, 1e9);
  const Colocation found = colocation(quiet, talkative, {100, 100, 1e9, 1e8}, Phases::kIndependent);
  EXPECT_EQ(found.limiting, Resource::kTransmit);
  EXPECT_LT(found.compatibility, 0.2);
}

TEST(Metrics, CompatibilityIsAShareThatInterleavingAndCapacityNeverLower) {
  const bool holds = rc::check("0 ≤ independent ≤ interleaved ≤ 1", [] {
    const auto any = [] {
      return burst(*rc::gen::inRange(0, 100) / 10.0, *rc::gen::inRange(0, 100) / 10.0, *rc::gen::inRange(0, 200));
    };
    const BurstMetrics one = any(), other = any();
    const double capacity = *rc::gen::inRange(1, 300);
    const double apart = compatibility(one, other, capacity, Phases::kIndependent);
    const double together = compatibility(one, other, capacity, Phases::kInterleaved);
    RC_ASSERT(apart >= -1e-12 && together <= 1 + 1e-12 && together >= apart - 1e-12);
    RC_ASSERT(std::abs(compatibility(other, one, capacity, Phases::kIndependent) - apart) < 1e-12);
    RC_ASSERT(compatibility(one, other, capacity + 10, Phases::kIndependent) >= apart - 1e-12);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace orrery::predict
