#include "lab/methods/wave_scaling.h"

#include <gtest/gtest.h>

#include "lab/lab.h"

namespace orrery::lab {
namespace {

hardware::Device device(int sms, double mhz, double bandwidth, double peak) {
  hardware::Device made;
  made.sms = sms;
  made.boost_mhz = mhz;
  made.memory_bandwidth = BytesPerSecond(bandwidth);
  made.fp32_vector = FlopsPerSecond(peak);
  return made;
}

TEST(WaveScaling, ASmallGridKeepsItsTime) {
  const MeasuredKernel kernel{.time_ms = 2, .blocks = 10, .blocks_per_sm = 1};
  EXPECT_EQ(wave_scaled_ms(kernel, device(20, 1000, 1e11, 1e12), device(40, 2000, 4e11, 8e12)), 2);
}

TEST(WaveScaling, WithoutCountersOnlyBandwidthDecides) {
  const MeasuredKernel kernel{.time_ms = 2, .blocks = 1000, .blocks_per_sm = 1};
  EXPECT_NEAR(wave_scaled_ms(kernel, device(20, 1000, 1e11, 1e12), device(40, 2000, 4e11, 8e12)), 0.5, 1e-12);
}

TEST(WaveScaling, AtTheRidgeBothDecideByHalf) {
  // R = 8e12 / 4e11 = 20 operations per byte, g = 1/2: 2 · (1/4)^½ · (1/2 · 1/2)^½ = 0.5; at ten times R, g = 1/20.
  MeasuredKernel kernel{.time_ms = 2, .blocks = 1000, .blocks_per_sm = 1, .flops_per_byte = 20};
  const auto a = device(20, 1000, 1e11, 1e12);
  const auto b = device(40, 2000, 4e11, 8e12);
  EXPECT_NEAR(memory_share(20, b), 0.5, 1e-12);
  EXPECT_NEAR(memory_share(200, b), 0.05, 1e-12);
  EXPECT_NEAR(wave_scaled_ms(kernel, a, b), 0.5, 1e-12);
}

}  // namespace
}  // namespace orrery::lab
