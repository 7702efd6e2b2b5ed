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
  // T4: r = 70 / (8.14 · 21.4) = 0.402, below the voltage floor: 0.402 · 0.6^−0.4 = 0.493 of the peak.
  EXPECT_NEAR(of("T4").usable_peak / of("T4").peak, 0.493, 0.002);
  // A100 PCIe: r = 250 / (19.5 · 20.5) = 0.625; 0.625^0.6 = 0.754.
  EXPECT_NEAR(of("A100 PCIe").usable_peak / of("A100 PCIe").peak, 0.754, 0.002);
  EXPECT_EQ(of("V100").usable_peak, of("V100").peak);
}

TEST(DeviceFacts, IssueSlotsHoldWideMultiprocessorsBelowTheirPeak) {
  EXPECT_NEAR(of("H100").usable_peak / of("H100").peak, 0.78, 1e-6);
  EXPECT_LT(of("L4").usable_peak / of("L4").peak, 0.5);  // 72 W are the tighter limit
  EXPECT_NEAR(of("GTX 1080").usable_peak / of("GTX 1080").peak, 1.15, 1e-3);
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
