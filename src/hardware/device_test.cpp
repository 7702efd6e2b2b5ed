#include "hardware/device.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <set>

#include "base/text.h"
#include "hardware/link.h"
#include "hardware/name_key.h"

namespace orrery::hardware {
namespace {

const Device& get(std::string_view name) {
  const auto device = find_device(name);
  EXPECT_TRUE(device.has_value()) << name;
  return **device;
}

TEST(DeviceTableTest, CoversTheFieldFromKeplerToBlackwell) {
  EXPECT_GE(all_devices().size(), 46U);
  for (const auto* name :
       {"K40",          "K80",         "GT 750M", "M40",    "M60",      "P4",       "P40",      "P100",
        "P600",         "P2000",       "P5000",   "P6000",  "GTX 1060", "GTX 1070", "GTX 1080", "GTX 1080 Ti",
        "V100",         "V100 32GB",   "Titan V", "T4",     "RTX 2060", "RTX 2070", "RTX 3060", "RTX 3090",
        "A100",         "A10G",        "A16",     "A30",    "A40",      "L4",       "L40S",     "RTX 4090",
        "H100",         "H100 PCIe",   "H200",    "GH200",  "B100",     "B200",     "GB200",    "RTX 5090",
        "MI50",         "MI250",       "MI300X",  "Gaudi2", "TPU v4",   "CPU",      "B300",     "RTX 2000 Ada",
        "RTX 4000 Ada", "RTX PRO 6000"}) {
    EXPECT_TRUE(find_device(name).has_value()) << name;
  }
}

TEST(DeviceTableTest, EveryRowIsComplete) {
  for (const Device& device : all_devices()) {
    SCOPED_TRACE(device.name);
    EXPECT_FALSE(device.source.empty());
    EXPECT_FALSE(device.vendor.empty());
    EXPECT_GE(device.year, 2012);
    EXPECT_GT(device.memory, Bytes(0));
    EXPECT_GT(device.memory_bandwidth, BytesPerSecond(0));
    EXPECT_GT(device.sms, 0);
    EXPECT_GE(device.fp32, device.fp32_vector);
    EXPECT_EQ(device.link.empty(), device.link_bandwidth == BytesPerSecond(0));
    if (!device.link.empty()) {
      ASSERT_TRUE(find_link(device.link).has_value());
      EXPECT_LE(device.link_bandwidth, find_link(device.link)->bandwidth);
    }
    EXPECT_EQ(device.pcie.empty(), device.kind == DeviceKind::kCpu);
    EXPECT_TRUE(device.pcie.empty() || find_link(device.pcie).has_value());
  }
}

// V100: 2 × 80 SMs × 64 lanes × 1.53 GHz = 15.67 TFLOP/s.
TEST(DeviceTableTest, VectorPeakIsLanesTimesClock) {
  for (const Device& device : all_devices()) {
    const double implied = 2.0 * device.sms * device.fp32_lanes_per_sm * device.boost_mhz * 1e6;
    EXPECT_NEAR(device.fp32_vector.value() / implied, 1, 0.01) << device.name;
  }
}

TEST(DeviceTableTest, MatrixPeaksArePlausibleAndNeverSparse) {
  for (const Device& device : all_devices()) {
    SCOPED_TRACE(device.name);
    if (device.kind != DeviceKind::kGpu) continue;
    EXPECT_TRUE(!supports(device, Precision::kFp16) || device.fp16 >= 1.5 * device.fp32);
    // On every GPU with tf32 it runs at half the rate of bf16, which runs at the rate of fp16.
    if (supports(device, Precision::kTf32)) {
      EXPECT_NEAR(device.bf16 / device.tf32, 2, 0.05);
      EXPECT_EQ(device.bf16, device.fp16);
    }
  }
}

TEST(DeviceTableTest, NamesAndAliasesAreUnique) {
  std::set<std::string> keys;
  for (const Device& device : all_devices()) {
    EXPECT_TRUE(keys.insert(name_key(device.name)).second) << device.name;
    for (const auto alias : device.aliases) EXPECT_TRUE(keys.insert(name_key(alias)).second) << alias;
  }
}

TEST(DeviceTableTest, BoardsWithSeveralGpusAreGivenPerGpu) {
  EXPECT_NEAR(2 * get("K80").fp32.value(), 8.73e12, 0.02e12);
  EXPECT_EQ(2 * get("K80").tdp, Watts(300));
  EXPECT_EQ(get("K80").memory, gibibytes(12));
  EXPECT_NEAR(2 * get("M60").fp32.value(), 9.65e12, 0.02e12);
  EXPECT_EQ(2 * get("M60").tdp, Watts(300));
  EXPECT_EQ(4 * get("A16").tdp, Watts(250));
  EXPECT_EQ(4 * get("A16").memory, gibibytes(64));
  EXPECT_NEAR(2 * get("MI250").fp16.value(), 362.1e12, 0.2e12);
}

// Whitepapers list RTX 3090 at 142 TFLOP/s with fp16 accumulate and 71 with fp32 accumulate.
TEST(DeviceTableTest, GeForceTensorPeaksAreForFp32Accumulate) {
  EXPECT_NEAR(get("RTX 3090").fp16 / get("RTX 3090").fp32, 2, 0.01);
  EXPECT_NEAR(get("RTX 2080 Ti").fp16 / get("RTX 2080 Ti").fp32, 4, 0.01);
  EXPECT_NEAR(get("Titan RTX").fp16 / get("Titan RTX").fp32, 8, 0.01);
}

TEST(FindDeviceTest, FindsWhatPeopleAndDriversWrite) {
  EXPECT_EQ(get("v100").name, "V100");
  EXPECT_EQ(get("Tesla V100-SXM2-16GB").name, "V100");
  EXPECT_EQ(get("NVIDIA GeForce RTX 3090").name, "RTX 3090");
  EXPECT_EQ(get("rtx3090").name, "RTX 3090");
  EXPECT_EQ(get("NVIDIA A100-SXM4-80GB").name, "A100 80GB");
  EXPECT_EQ(get("Quadro RTX 6000").name, "Quadro RTX 6000");
  EXPECT_EQ(get("RTX 6000").name, "Quadro RTX 6000");
  EXPECT_EQ(get("NVIDIA RTX 6000 Ada Generation").name, "RTX 6000 Ada");
  EXPECT_EQ(get("NVIDIA RTX 4000 Ada Generation").name, "RTX 4000 Ada");
  EXPECT_EQ(get("NVIDIA RTX PRO 6000 Blackwell Workstation Edition").name, "RTX PRO 6000");
  EXPECT_EQ(get("tpu-v4").name, "TPU v4");
}

TEST(FindDeviceTest, UnknownNamesSuggestTheNearest) {
  EXPECT_EQ(find_device("V10O").error().message(), "unknown device \"V10O\"; did you mean \"V100\"?");
  EXPECT_EQ(find_device("banana").error().message(), "unknown device \"banana\"");
  EXPECT_FALSE(find_device("").has_value());
  EXPECT_FALSE(find_device("NVIDIA ").has_value());
}

TEST(FindDeviceTest, CaseAndSeparatorsNeverMatter) {
  EXPECT_TRUE(rc::check("a disguised name finds the same device", [] {
    const Device& device = all_devices()[*rc::gen::inRange<std::size_t>(0, all_devices().size())];
    std::string disguised;
    for (const char c : device.name) {
      if (*rc::gen::arbitrary<bool>()) disguised += '-';
      disguised += *rc::gen::arbitrary<bool>() ? c : to_lower(std::string(1, c))[0];
    }
    const auto found = find_device(disguised);
    RC_ASSERT(found.has_value());
    RC_ASSERT(*found == &device);
  }));
}

TEST(MatrixPeakTest, UnsupportedPrecisionsRunAtTheRateOfFp32) {
  EXPECT_EQ(matrix_peak(get("V100"), Precision::kFp16), teraflops(125));
  EXPECT_EQ(matrix_peak(get("V100"), Precision::kTf32), get("V100").fp32);
  EXPECT_EQ(matrix_peak(get("V100"), Precision::kBf16), get("V100").fp32);
  EXPECT_EQ(matrix_peak(get("K80"), Precision::kFp16), get("K80").fp32);
  EXPECT_EQ(matrix_peak(get("A100"), Precision::kTf32), teraflops(156));
  EXPECT_TRUE(supports(get("K80"), Precision::kFp32));
  EXPECT_FALSE(supports(get("V100"), Precision::kBf16));
}

}  // namespace
}  // namespace orrery::hardware
