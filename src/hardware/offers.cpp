// The built-in offers: public list prices of one machine per hour in US dollars, noted in the month given.
// Google's older devices are attached to an n1-standard-8 host ($0.38) and priced together with it. Spot prices are
// given only where they were a list price and not an auction.

#include "hardware/offer.h"

namespace orrery::hardware {
namespace {

constexpr const char* kAws = "AWS";
constexpr const char* kGoogle = "Google Cloud";
constexpr const char* kAzure = "Azure";
constexpr const char* kLambda = "Lambda";
constexpr const char* kCoreWeave = "CoreWeave";
constexpr const char* kPaperspace = "Paperspace";
constexpr const char* kRunPod = "RunPod";

constexpr DollarsPerHour usd(double amount) {
  return DollarsPerHour(amount);
}

std::vector<Offer> make_offers() {
  // clang-format off
  return {
    {kAws, "p2.xlarge",      "K80",       1,  usd(0.90),    {},        4,   gibibytes(61),   "us-east-1", "2023-06"},
    {kAws, "p2.16xlarge",    "K80",       16, usd(14.40),   {},        64,  gibibytes(732),  "us-east-1", "2023-06"},
    {kAws, "g3s.xlarge",     "M60",       1,  usd(0.75),    {},        4,   gibibytes(30.5), "us-east-1", "2023-06"},
    {kAws, "g3.16xlarge",    "M60",       4,  usd(4.56),    {},        64,  gibibytes(488),  "us-east-1", "2023-06"},
    {kAws, "p3.2xlarge",     "V100",      1,  usd(3.06),    {},        8,   gibibytes(61),   "us-east-1", "2024-06"},
    {kAws, "p3.8xlarge",     "V100",      4,  usd(12.24),   {},        32,  gibibytes(244),  "us-east-1", "2024-06"},
    {kAws, "p3.16xlarge",    "V100",      8,  usd(24.48),   {},        64,  gibibytes(488),  "us-east-1", "2024-06"},
    {kAws, "p3dn.24xlarge",  "V100 32GB", 8,  usd(31.212),  {},        96,  gibibytes(768),  "us-east-1", "2024-06"},
    {kAws, "g4dn.xlarge",    "T4",        1,  usd(0.526),   {},        4,   gibibytes(16),   "us-east-1", "2025-06"},
    {kAws, "g4dn.12xlarge",  "T4",        4,  usd(3.912),   {},        48,  gibibytes(192),  "us-east-1", "2025-06"},
    {kAws, "g5.xlarge",      "A10G",      1,  usd(1.006),   {},        4,   gibibytes(16),   "us-east-1", "2025-06"},
    {kAws, "g5.48xlarge",    "A10G",      8,  usd(16.288),  {},        192, gibibytes(768),  "us-east-1", "2025-06"},
    {kAws, "g6.xlarge",      "L4",        1,  usd(0.8048),  {},        4,   gibibytes(16),   "us-east-1", "2025-06"},
    {kAws, "g6e.xlarge",     "L40S",      1,  usd(1.861),   {},        4,   gibibytes(32),   "us-east-1", "2025-06"},
    {kAws, "p4d.24xlarge",   "A100",      8,  usd(21.96),   {},        96,  gibibytes(1152), "us-east-1", "2025-06"},
    {kAws, "p4de.24xlarge",  "A100 80GB", 8,  usd(27.45),   {},        96,  gibibytes(1152), "us-east-1", "2025-06"},
    {kAws, "p5.48xlarge",    "H100",      8,  usd(55.04),   {},        192, gibibytes(2048), "us-east-1", "2025-06"},
    {kAws, "p5en.48xlarge",  "H200",      8,  usd(63.30),   {},        192, gibibytes(2048), "us-east-1", "2025-06"},
    {kAws, "p6-b200.48xlarge", "B200",    8,  usd(113.93),  {},        192, gibibytes(2048), "us-east-1", "2025-06"},

    {kGoogle, "n1-standard-8 + K80",  "K80",  1, usd(0.83), usd(0.12), 8, gibibytes(30), "us-central1", "2023-06"},
    {kGoogle, "n1-standard-8 + P4",   "P4",   1, usd(0.98), usd(0.30), 8, gibibytes(30), "us-central1", "2024-06"},
    {kGoogle, "n1-standard-8 + P100", "P100 PCIe", 1, usd(1.84), usd(0.51), 8, gibibytes(30), "us-central1", "2024-06"},
    {kGoogle, "n1-standard-8 + V100", "V100", 1, usd(2.86), usd(0.82), 8, gibibytes(30), "us-central1", "2024-06"},
    {kGoogle, "n1-standard-8 + T4",   "T4",   1, usd(0.73), usd(0.19), 8, gibibytes(30), "us-central1", "2024-06"},
    {kGoogle, "a2-highgpu-1g",  "A100",      1, usd(3.67),  usd(1.10), 12,  gibibytes(85),   "us-central1", "2024-06"},
    {kGoogle, "a2-highgpu-8g",  "A100",      8, usd(29.39), usd(8.82), 96,  gibibytes(680),  "us-central1", "2024-06"},
    {kGoogle, "g2-standard-4",  "L4",        1, usd(0.71),  usd(0.28), 4,   gibibytes(16),   "us-central1", "2024-06"},
    {kGoogle, "a3-highgpu-8g",  "H100",      8, usd(88.25), {},        208, gibibytes(1872), "us-central1", "2024-06"},
    {kGoogle, "ct5lp-hightpu-1t", "TPU v5e", 1, usd(1.20),  {},        24,  gibibytes(48),   "us-central1", "2024-06"},

    {kAzure, "NC6",              "K80",            1, usd(0.90),  {},        6,  gibibytes(56),   "eastus", "2023-06"},
    {kAzure, "NC6s v2",          "P100 PCIe",      1, usd(2.07),  {},        6,  gibibytes(112),  "eastus", "2023-06"},
    {kAzure, "NC6s v3",          "V100 PCIe",      1, usd(3.06),  {},        6,  gibibytes(112),  "eastus", "2024-06"},
    {kAzure, "NC24ads A100 v4",  "A100 PCIe 80GB", 1, usd(3.673), {},        24, gibibytes(220),  "eastus", "2024-06"},
    {kAzure, "ND96asr v4",       "A100",           8, usd(27.20), {},        96, gibibytes(900),  "eastus", "2024-06"},
    {kAzure, "ND96isr H100 v5",  "H100",           8, usd(98.32), {},        96, gibibytes(1900), "eastus", "2024-06"},

    {kLambda, "gpu_1x_a10",           "A10",       1, usd(0.75),  {}, 30,  gibibytes(200),  "us-east-1", "2025-06"},
    {kLambda, "gpu_1x_a6000",         "A6000",     1, usd(0.80),  {}, 14,  gibibytes(100),  "us-east-1", "2025-06"},
    {kLambda, "gpu_8x_v100",          "V100",      8, usd(4.40),  {}, 92,  gibibytes(448),  "us-east-1", "2025-06"},
    {kLambda, "gpu_8x_a100_80gb_sxm4", "A100 80GB", 8, usd(14.32), {}, 240, gibibytes(1800), "us-east-1", "2025-06"},
    {kLambda, "gpu_1x_h100_pcie",     "H100 PCIe", 1, usd(2.49),  {}, 26,  gibibytes(225),  "us-east-1", "2025-06"},
    {kLambda, "gpu_8x_h100_sxm5",     "H100",      8, usd(23.92), {}, 208, gibibytes(1800), "us-east-1", "2025-06"},
    {kLambda, "gpu_1x_gh200",         "GH200",     1, usd(1.49),  {}, 64,  gibibytes(432),  "us-east-1", "2025-06"},

    {kCoreWeave, "HGX H200",    "H200", 8, usd(50.44), {}, 128, gibibytes(2048), "us-east", "2025-06"},
    {kCoreWeave, "HGX B200",    "B200", 8, usd(68.80), {}, 128, gibibytes(2048), "us-east", "2025-06"},
    {kPaperspace, "P5000",  "P5000",    1, usd(0.78), {}, 8, gibibytes(30), "us-east", "2024-06"},
    {kPaperspace, "P6000",  "P6000",    1, usd(1.10), {}, 8, gibibytes(30), "us-east", "2024-06"},
    {kRunPod, "RTX 4090",   "RTX 4090", 1, usd(0.69), {}, 6, gibibytes(41), "us", "2025-06"},
    {kRunPod, "MI300X",     "MI300X",   1, usd(2.49), {}, 24, gibibytes(283), "us", "2025-06"},
  };
  // clang-format on
}

}  // namespace

std::span<const Offer> built_in_offers() {
  static const std::vector<Offer> kOffers = make_offers();
  return kOffers;
}

}  // namespace orrery::hardware
