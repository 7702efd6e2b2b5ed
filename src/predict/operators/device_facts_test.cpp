#include "predict/operators/device_facts.h"

#include <cmath>
#include <gtest/gtest.h>

namespace orrery::predict {
namespace {

DeviceFacts of(std::string_view name) {
  const auto device = hardware::find_device(name);
  EXPECT_TRUE(device) << name;
  return facts_of(**device);
}

TEST(DeviceFacts, PowerHoldsSmallBoardsBelowTheirPeak) {
  EXPECT_NEAR(of("T4").usable_peak, 70 / 18e-12, 1e9);           // 3.9 of 8.1 TFLOP/s
  EXPECT_EQ(of("V100 PCIe").usable_peak, 250 / 18e-12);          // just below its peak
  EXPECT_EQ(of("P100 PCIe").usable_peak, of("P100 PCIe").peak);  // 250 W are enough
  EXPECT_NEAR(of("L4").usable_peak, 72 / 5.4e-12, 1e9);
}

TEST(DeviceFacts, IssueSlotsHoldWideMultiprocessorsBelowTheirPeak) {
  EXPECT_NEAR(of("H100").usable_peak, 0.78 * of("H100").peak, 1e9);
  EXPECT_NEAR(of("GTX 1080 Ti").usable_peak, 1.15 * of("GTX 1080 Ti").peak, 1e9);
}

TEST(DeviceFacts, AnUnknownDeviceKeepsItsPeak) {
  const DeviceFacts facts = with_limits({.name = "Frobnicator 9", .peak = 1e13, .bandwidth = 1e12, .sms = 10});
  EXPECT_EQ(facts.usable_peak, 1e13);
  EXPECT_TRUE(std::isnan(facts.generation));
}

TEST(DeviceFacts, EveryDeviceHasAUsablePeak) {
  for (const hardware::Device& device : hardware::all_devices()) {
    const DeviceFacts facts = facts_of(device);
    EXPECT_GT(facts.usable_peak, 0) << device.name;
    EXPECT_LE(facts.usable_peak, 1.16 * facts.peak) << device.name;
  }
}

}  // namespace
}  // namespace orrery::predict
