// The device table. Written from public datasheets and architecture papers, named in each row; values are per device
// and dense (see device.h). Where a maker quotes no value it is derived, and the source says from what.

#include "hardware/device.h"

namespace orrery::hardware {
namespace {

struct Architecture {
  std::string_view vendor;
  std::string_view name;
  DeviceKind kind;
  int fp32_lanes_per_sm;
};

constexpr Architecture kKepler = {"NVIDIA", "Kepler", DeviceKind::kGpu, 192};
constexpr Architecture kMaxwell = {"NVIDIA", "Maxwell", DeviceKind::kGpu, 128};
constexpr Architecture kPascal = {"NVIDIA", "Pascal", DeviceKind::kGpu, 128};
constexpr Architecture kPascalGp100 = {"NVIDIA", "Pascal", DeviceKind::kGpu, 64};
constexpr Architecture kVolta = {"NVIDIA", "Volta", DeviceKind::kGpu, 64};
constexpr Architecture kTuring = {"NVIDIA", "Turing", DeviceKind::kGpu, 64};
constexpr Architecture kAmpereGa100 = {"NVIDIA", "Ampere", DeviceKind::kGpu, 64};
constexpr Architecture kAmpere = {"NVIDIA", "Ampere", DeviceKind::kGpu, 128};
constexpr Architecture kAda = {"NVIDIA", "Ada", DeviceKind::kGpu, 128};
constexpr Architecture kHopper = {"NVIDIA", "Hopper", DeviceKind::kGpu, 128};
constexpr Architecture kBlackwell = {"NVIDIA", "Blackwell", DeviceKind::kGpu, 128};
constexpr Architecture kVega = {"AMD", "Vega", DeviceKind::kGpu, 64};
constexpr Architecture kCdna = {"AMD", "CDNA", DeviceKind::kGpu, 64};
constexpr Architecture kCdna2 = {"AMD", "CDNA 2", DeviceKind::kGpu, 64};
constexpr Architecture kCdna3 = {"AMD", "CDNA 3", DeviceKind::kGpu, 128};  // two fp32 operations per lane and cycle
constexpr Architecture kGaudi = {"Intel", "Gaudi", DeviceKind::kAccelerator, 64};
constexpr Architecture kTpu = {"Google", "TPU", DeviceKind::kAccelerator, 1024};
constexpr Architecture kTpu5 = {"Google", "TPU", DeviceKind::kAccelerator, 2048};
constexpr Architecture kZen3 = {"AMD", "Zen 3", DeviceKind::kCpu, 16};  // two 256-bit fused multiply-adds per cycle

struct Clock {
  int sms;
  double boost_mhz;
};

struct TeraFlops {
  double vector;
  double fp32_matrix = 0;  // 0: no matrix unit for fp32, the vector rate holds
  double tf32 = 0;
  double fp16 = 0;
  double bf16 = 0;
};

struct Memory {
  double gib;
  double gb_s;
  double l2_mib;
};

struct Links {
  std::string_view pcie;
  std::string_view link = {};
  double gb_s = 0;  // per direction, all ports
};

struct Row {
  std::string_view name;
  std::vector<std::string_view> aliases;
  const Architecture& architecture;
  int year;
  Clock clock;
  TeraFlops peak;
  Memory memory;
  Links links;
  double tdp_w;
  std::string_view source;
};

constexpr Links kNoLink = {""};
constexpr Links kPcie2 = {"PCIe 2 x16"};
constexpr Links kPcie3 = {"PCIe 3 x16"};
constexpr Links kPcie4 = {"PCIe 4 x16"};
constexpr Links kPcie5 = {"PCIe 5 x16"};

// A row reads: name, aliases, architecture, year / {sms, MHz}, {TFLOP/s}, {GiB, GB/s, L2 MiB}, links, W / source.
// clang-format off
std::vector<Row> rows() {
  return {
      // Kepler
      {"K20X", {}, kKepler, 2012, {14, 732}, {.vector = 3.94}, {6, 250, 1.5}, kPcie2, 235,
       "NVIDIA Tesla K20X board specification, 2012"},
      {"GT 750M", {}, kKepler, 2013, {2, 967}, {.vector = 0.743}, {2, 80, 0.25}, kPcie3, 50,
       "NVIDIA GeForce GT 750M product page, 2013 (GDDR5; power is typical, not published)"},
      {"K40", {"K40m", "K40c"}, kKepler, 2013, {15, 875}, {.vector = 5.04}, {12, 288, 1.5}, kPcie3, 235,
       "NVIDIA Tesla K40 board specification, 2013 (boost clock)"},
      {"K80", {}, kKepler, 2014, {13, 875}, {.vector = 4.37}, {12, 240, 1.5}, kPcie3, 150,
       "NVIDIA Tesla K80 datasheet, 2014 (one of two GPUs; board 8.73 TFLOP/s, 300 W)"},

      // Maxwell
      {"GTX 980", {}, kMaxwell, 2014, {16, 1216}, {.vector = 4.98}, {4, 224, 2}, kPcie3, 165,
       "NVIDIA GeForce GTX 980 whitepaper, 2014"},
      {"GTX 980 Ti", {}, kMaxwell, 2015, {22, 1075}, {.vector = 6.05}, {6, 336.5, 3}, kPcie3, 250,
       "NVIDIA GeForce GTX 980 Ti product page, 2015"},
      {"Titan X Maxwell", {"GTX Titan X"}, kMaxwell, 2015, {24, 1075}, {.vector = 6.60}, {12, 336.5, 3}, kPcie3, 250,
       "NVIDIA GeForce GTX TITAN X product page, 2015"},
      {"M40", {"M40 12GB"}, kMaxwell, 2015, {24, 1114}, {.vector = 6.84}, {12, 288, 3}, kPcie3, 250,
       "NVIDIA Tesla M40 datasheet, 2015"},
      {"M60", {}, kMaxwell, 2015, {16, 1178}, {.vector = 4.825}, {8, 160, 2}, kPcie3, 150,
       "NVIDIA Tesla M60 board specification, 2015 (one of two GPUs; board 9.65 TFLOP/s, 300 W)"},

      // Pascal
      {"P4", {}, kPascal, 2016, {20, 1063}, {.vector = 5.44}, {8, 192, 2}, kPcie3, 75,
       "NVIDIA Tesla P4 datasheet, 2016"},
      {"P40", {}, kPascal, 2016, {30, 1531}, {.vector = 11.76}, {24, 346, 3}, kPcie3, 250,
       "NVIDIA Tesla P40 datasheet, 2016"},
      {"P100", {"P100-SXM2", "P100-SXM2-16GB"}, kPascalGp100, 2016,
       {56, 1480}, {.vector = 10.6, .fp16 = 21.2}, {16, 732, 4}, {"PCIe 3 x16", "NVLink 1", 80}, 300,
       "NVIDIA Tesla P100 whitepaper, 2016"},
      {"P100 PCIe", {"P100-PCIE-16GB"}, kPascalGp100, 2016,
       {56, 1303}, {.vector = 9.34, .fp16 = 18.7}, {16, 732, 4}, kPcie3, 250,
       "NVIDIA Tesla P100 PCIe datasheet, 2016"},
      {"P600", {}, kPascal, 2017, {3, 1557}, {.vector = 1.195}, {2, 64, 1}, kPcie3, 40,
       "NVIDIA Quadro P600 datasheet, 2017"},
      {"P2000", {}, kPascal, 2017, {8, 1480}, {.vector = 3.03}, {5, 140, 1.25}, kPcie3, 75,
       "NVIDIA Quadro P2000 datasheet, 2017"},
      {"P4000", {}, kPascal, 2017, {14, 1480}, {.vector = 5.30}, {8, 243, 2}, kPcie3, 105,
       "NVIDIA Quadro P4000 datasheet, 2017"},
      {"P5000", {}, kPascal, 2016, {20, 1733}, {.vector = 8.87}, {16, 288, 2}, kPcie3, 180,
       "NVIDIA Quadro P5000 datasheet, 2016"},
      {"P6000", {}, kPascal, 2016, {30, 1645}, {.vector = 12.63}, {24, 432, 3}, kPcie3, 250,
       "NVIDIA Quadro P6000 datasheet, 2016"},
      {"GTX 1060", {"GTX 1060 6GB"}, kPascal, 2016, {10, 1708}, {.vector = 4.37}, {6, 192, 1.5}, kPcie3, 120,
       "NVIDIA GeForce GTX 1060 product page, 2016"},
      {"GTX 1070", {}, kPascal, 2016, {15, 1683}, {.vector = 6.46}, {8, 256, 2}, kPcie3, 150,
       "NVIDIA GeForce GTX 1070 product page, 2016"},
      {"GTX 1080", {}, kPascal, 2016, {20, 1733}, {.vector = 8.87}, {8, 320, 2}, kPcie3, 180,
       "NVIDIA GeForce GTX 1080 whitepaper, 2016"},
      {"GTX 1080 Ti", {}, kPascal, 2017, {28, 1582}, {.vector = 11.34}, {11, 484, 2.75}, kPcie3, 250,
       "NVIDIA GeForce GTX 1080 Ti product page, 2017"},
      {"Titan X Pascal", {"Titan X"}, kPascal, 2016, {28, 1531}, {.vector = 10.97}, {12, 480, 3}, kPcie3, 250,
       "NVIDIA TITAN X product page, 2016"},
      {"Titan Xp", {}, kPascal, 2017, {30, 1582}, {.vector = 12.15}, {12, 547.6, 3}, kPcie3, 250,
       "NVIDIA TITAN Xp product page, 2017"},

      // Volta
      {"V100", {"V100-SXM2", "V100-SXM2-16GB", "V100 16GB"}, kVolta, 2017,
       {80, 1530}, {.vector = 15.7, .fp16 = 125}, {16, 900, 6}, {"PCIe 3 x16", "NVLink 2", 150}, 300,
       "NVIDIA Tesla V100 datasheet, 2018"},
      {"V100 32GB", {"V100-SXM2-32GB", "V100-SXM3-32GB"}, kVolta, 2018,
       {80, 1530}, {.vector = 15.7, .fp16 = 125}, {32, 900, 6}, {"PCIe 3 x16", "NVLink 2", 150}, 300,
       "NVIDIA Tesla V100 datasheet, 2018"},
      {"V100 PCIe", {"V100-PCIE-16GB"}, kVolta, 2017,
       {80, 1380}, {.vector = 14.13, .fp16 = 112}, {16, 900, 6}, kPcie3, 250,
       "NVIDIA Tesla V100 datasheet, 2018"},
      {"V100 PCIe 32GB", {}, kVolta, 2018,
       {80, 1380}, {.vector = 14.13, .fp16 = 112}, {32, 900, 6}, kPcie3, 250,
       "NVIDIA Tesla V100 datasheet, 2018"},
      {"V100S", {"V100S-PCIE-32GB"}, kVolta, 2019,
       {80, 1597}, {.vector = 16.35, .fp16 = 130}, {32, 1134, 6}, kPcie3, 250,
       "NVIDIA V100 datasheet, 2020"},
      {"Titan V", {}, kVolta, 2017, {80, 1455}, {.vector = 14.9, .fp16 = 110}, {12, 653, 4.5}, kPcie3, 250,
       "NVIDIA TITAN V product page, 2017"},

      // Turing
      {"T4", {}, kTuring, 2018, {40, 1590}, {.vector = 8.14, .fp16 = 65}, {16, 320, 4}, kPcie3, 70,
       "NVIDIA T4 datasheet, 2018"},
      {"RTX 2060", {}, kTuring, 2019, {30, 1680}, {.vector = 6.45, .fp16 = 25.8}, {6, 336, 3}, kPcie3, 160,
       "NVIDIA GeForce RTX 2060 product page, 2019; tensor rate from the Turing whitepaper, 2018"},
      {"RTX 2070", {}, kTuring, 2018, {36, 1620}, {.vector = 7.46, .fp16 = 29.9}, {8, 448, 4}, kPcie3, 175,
       "NVIDIA Turing architecture whitepaper, 2018"},
      {"RTX 2080", {}, kTuring, 2018,
       {46, 1710}, {.vector = 10.07, .fp16 = 40.3}, {8, 448, 4}, {"PCIe 3 x16", "NVLink 2", 25}, 215,
       "NVIDIA Turing architecture whitepaper, 2018"},
      {"RTX 2080 Ti", {}, kTuring, 2018,
       {68, 1545}, {.vector = 13.45, .fp16 = 53.8}, {11, 616, 5.5}, {"PCIe 3 x16", "NVLink 2", 50}, 250,
       "NVIDIA Turing architecture whitepaper, 2018"},
      {"Titan RTX", {}, kTuring, 2018,
       {72, 1770}, {.vector = 16.31, .fp16 = 130.5}, {24, 672, 6}, {"PCIe 3 x16", "NVLink 2", 50}, 280,
       "NVIDIA TITAN RTX product page, 2018"},
      {"Quadro RTX 4000", {}, kTuring, 2018,
       {36, 1545}, {.vector = 7.12, .fp16 = 57}, {8, 416, 4}, kPcie3, 160,
       "NVIDIA Quadro RTX 4000 datasheet, 2018"},
      {"Quadro RTX 5000", {}, kTuring, 2018,
       {48, 1815}, {.vector = 11.15, .fp16 = 89.2}, {16, 448, 4}, {"PCIe 3 x16", "NVLink 2", 25}, 230,
       "NVIDIA Quadro RTX 5000 datasheet, 2018"},
      {"Quadro RTX 6000", {}, kTuring, 2018,
       {72, 1770}, {.vector = 16.31, .fp16 = 130.5}, {24, 672, 6}, {"PCIe 3 x16", "NVLink 2", 50}, 260,
       "NVIDIA Turing architecture whitepaper, 2018"},
      {"Quadro RTX 8000", {}, kTuring, 2018,
       {72, 1770}, {.vector = 16.31, .fp16 = 130.5}, {48, 672, 6}, {"PCIe 3 x16", "NVLink 2", 50}, 260,
       "NVIDIA Quadro RTX 8000 datasheet, 2018"},

      // Ampere, data centre
      {"A100", {"A100-SXM4-40GB", "A100 SXM", "A100 40GB"}, kAmpereGa100, 2020,
       {108, 1410}, {.vector = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312}, {40, 1555, 40},
       {"PCIe 4 x16", "NVLink 3", 300}, 400,
       "NVIDIA A100 datasheet, 2020"},
      {"A100 80GB", {"A100-SXM4-80GB", "A100 SXM 80GB"}, kAmpereGa100, 2020,
       {108, 1410}, {.vector = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312}, {80, 2039, 40},
       {"PCIe 4 x16", "NVLink 3", 300}, 400,
       "NVIDIA A100 80GB datasheet, 2021"},
      {"A100 PCIe", {"A100-PCIE-40GB"}, kAmpereGa100, 2020,
       {108, 1410}, {.vector = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312}, {40, 1555, 40},
       {"PCIe 4 x16", "NVLink 3", 300}, 250,
       "NVIDIA A100 PCIe product brief, 2020 (NVLink as a bridge between two cards)"},
      {"A100 PCIe 80GB", {"A100 80GB PCIe"}, kAmpereGa100, 2021,
       {108, 1410}, {.vector = 19.5, .tf32 = 156, .fp16 = 312, .bf16 = 312}, {80, 1935, 40},
       {"PCIe 4 x16", "NVLink 3", 300}, 300,
       "NVIDIA A100 80GB PCIe datasheet, 2021 (NVLink as a bridge between two cards)"},
      {"A30", {}, kAmpereGa100, 2021,
       {56, 1440}, {.vector = 10.32, .tf32 = 82, .fp16 = 165, .bf16 = 165}, {24, 933, 24},
       {"PCIe 4 x16", "NVLink 3", 100}, 165,
       "NVIDIA A30 datasheet, 2021"},
      {"A2", {}, kAmpere, 2021,
       {10, 1770}, {.vector = 4.53, .tf32 = 9, .fp16 = 18, .bf16 = 18}, {16, 200, 2}, {"PCIe 4 x8"}, 60,
       "NVIDIA A2 datasheet, 2021"},
      {"A10", {}, kAmpere, 2021,
       {72, 1695}, {.vector = 31.2, .tf32 = 62.5, .fp16 = 125, .bf16 = 125}, {24, 600, 6}, kPcie4, 150,
       "NVIDIA A10 datasheet, 2021"},
      {"A10G", {}, kAmpere, 2021,
       {80, 1710}, {.vector = 35.0, .tf32 = 35, .fp16 = 70, .bf16 = 70}, {24, 600, 6}, kPcie4, 300,
       "NVIDIA A10G datasheet for EC2 G5, 2021"},
      {"A16", {}, kAmpere, 2021,
       {10, 1755}, {.vector = 4.49, .tf32 = 9, .fp16 = 17.9, .bf16 = 17.9}, {16, 200, 2}, kPcie4, 62.5,
       "NVIDIA A16 datasheet, 2021 (one of four GPUs; board 250 W)"},
      {"A40", {}, kAmpere, 2020,
       {84, 1740}, {.vector = 37.4, .tf32 = 74.8, .fp16 = 149.7, .bf16 = 149.7}, {48, 696, 6},
       {"PCIe 4 x16", "NVLink 3", 56.25}, 300,
       "NVIDIA A40 datasheet, 2021"},

      // Ampere, workstation and GeForce
      {"A4000", {"RTX A4000"}, kAmpere, 2021,
       {48, 1560}, {.vector = 19.17, .tf32 = 38.3, .fp16 = 76.7, .bf16 = 76.7}, {16, 448, 4}, kPcie4, 140,
       "NVIDIA RTX A4000 datasheet, 2021"},
      {"A5000", {"RTX A5000"}, kAmpere, 2021,
       {64, 1695}, {.vector = 27.77, .tf32 = 55.6, .fp16 = 111.1, .bf16 = 111.1}, {24, 768, 6},
       {"PCIe 4 x16", "NVLink 3", 56.25}, 230,
       "NVIDIA RTX A5000 datasheet, 2021"},
      {"A6000", {"RTX A6000"}, kAmpere, 2020,
       {84, 1800}, {.vector = 38.7, .tf32 = 77.4, .fp16 = 154.8, .bf16 = 154.8}, {48, 768, 6},
       {"PCIe 4 x16", "NVLink 3", 56.25}, 300,
       "NVIDIA Ampere GA102 architecture whitepaper, 2020"},
      {"RTX 3060", {}, kAmpere, 2021,
       {28, 1777}, {.vector = 12.74, .tf32 = 12.7, .fp16 = 25.5, .bf16 = 25.5}, {12, 360, 3}, kPcie4, 170,
       "NVIDIA GeForce RTX 3060 product page, 2021; tensor rate from the GA102 whitepaper, 2020"},
      {"RTX 3070", {}, kAmpere, 2020,
       {46, 1725}, {.vector = 20.31, .tf32 = 20.3, .fp16 = 40.6, .bf16 = 40.6}, {8, 448, 4}, kPcie4, 220,
       "NVIDIA Ampere GA102 architecture whitepaper, 2020"},
      {"RTX 3080", {}, kAmpere, 2020,
       {68, 1710}, {.vector = 29.77, .tf32 = 29.8, .fp16 = 59.5, .bf16 = 59.5}, {10, 760, 5}, kPcie4, 320,
       "NVIDIA Ampere GA102 architecture whitepaper, 2020"},
      {"RTX 3080 Ti", {}, kAmpere, 2021,
       {80, 1665}, {.vector = 34.1, .tf32 = 34.1, .fp16 = 68.2, .bf16 = 68.2}, {12, 912, 6}, kPcie4, 350,
       "NVIDIA GeForce RTX 3080 Ti product page, 2021; tensor rate from the GA102 whitepaper, 2020"},
      {"RTX 3090", {}, kAmpere, 2020,
       {82, 1695}, {.vector = 35.58, .tf32 = 35.6, .fp16 = 71.2, .bf16 = 71.2}, {24, 936, 6},
       {"PCIe 4 x16", "NVLink 3", 56.25}, 350,
       "NVIDIA Ampere GA102 architecture whitepaper, 2020"},

      // Ada
      {"L4", {}, kAda, 2023,
       {58, 2040}, {.vector = 30.3, .tf32 = 60, .fp16 = 121, .bf16 = 121}, {24, 300, 48}, kPcie4, 72,
       "NVIDIA L4 datasheet, 2023"},
      {"L40", {}, kAda, 2022,
       {142, 2490}, {.vector = 90.5, .tf32 = 90.5, .fp16 = 181, .bf16 = 181}, {48, 864, 96}, kPcie4, 300,
       "NVIDIA L40 datasheet, 2022"},
      {"L40S", {}, kAda, 2023,
       {142, 2520}, {.vector = 91.6, .tf32 = 183, .fp16 = 362, .bf16 = 362}, {48, 864, 96}, kPcie4, 350,
       "NVIDIA L40S datasheet, 2023"},
      {"RTX 4070", {}, kAda, 2023,
       {46, 2475}, {.vector = 29.15, .tf32 = 29.1, .fp16 = 58.3, .bf16 = 58.3}, {12, 504, 36}, kPcie4, 200,
       "NVIDIA GeForce RTX 4070 product page, 2023; tensor rate from the Ada whitepaper, 2022"},
      {"RTX 4080", {}, kAda, 2022,
       {76, 2505}, {.vector = 48.7, .tf32 = 48.7, .fp16 = 97.5, .bf16 = 97.5}, {16, 716.8, 64}, kPcie4, 320,
       "NVIDIA Ada architecture whitepaper, 2022"},
      {"RTX 4090", {}, kAda, 2022,
       {128, 2520}, {.vector = 82.6, .tf32 = 82.6, .fp16 = 165.2, .bf16 = 165.2}, {24, 1008, 72}, kPcie4, 450,
       "NVIDIA Ada architecture whitepaper, 2022"},
      {"RTX 2000 Ada", {"RTX 2000 Ada Generation"}, kAda, 2024,
       {22, 2130}, {.vector = 12.0, .tf32 = 24, .fp16 = 48, .bf16 = 48}, {16, 224, 12}, {"PCIe 4 x8"}, 70,
       "NVIDIA RTX 2000 Ada Generation specifications, 2024 (16-bit rate: a quarter of its 191.9 TFLOP/s of sparse fp8)"},
      {"RTX 4000 Ada", {"RTX 4000 Ada Generation"}, kAda, 2023,
       {48, 2175}, {.vector = 26.7, .tf32 = 53.5, .fp16 = 106.9, .bf16 = 106.9}, {20, 360, 48}, kPcie4, 130,
       "NVIDIA RTX 4000 Ada Generation specifications, 2023; tensor rate derived from sms and clock as on RTX 6000 Ada"},
      {"RTX 6000 Ada", {"RTX 6000 Ada Generation"}, kAda, 2022,
       {142, 2505}, {.vector = 91.1, .tf32 = 182.1, .fp16 = 364.2, .bf16 = 364.2}, {48, 960, 96}, kPcie4, 300,
       "NVIDIA RTX 6000 Ada Generation datasheet, 2022"},

      // Hopper
      {"H100", {"H100 SXM", "H100 SXM5", "H100 80GB HBM3", "H100 80GB"}, kHopper, 2022,
       {132, 1980}, {.vector = 66.9, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4}, {80, 3352, 50},
       {"PCIe 5 x16", "NVLink 4", 450}, 700,
       "NVIDIA H100 datasheet, 2023"},
      {"H100 PCIe", {}, kHopper, 2022,
       {114, 1755}, {.vector = 51.2, .tf32 = 378, .fp16 = 756, .bf16 = 756}, {80, 2039, 50},
       {"PCIe 5 x16", "NVLink 4", 300}, 350,
       "NVIDIA H100 PCIe product brief, 2022 (NVLink as a bridge between two cards)"},
      {"H100 NVL", {}, kHopper, 2023,
       {132, 1785}, {.vector = 60.3, .tf32 = 417.7, .fp16 = 835.5, .bf16 = 835.5}, {94, 3938, 50},
       {"PCIe 5 x16", "NVLink 4", 300}, 400,
       "NVIDIA H100 NVL product brief, 2024 (NVLink as a bridge between two cards)"},
      {"H200", {"H200 SXM"}, kHopper, 2023,
       {132, 1980}, {.vector = 66.9, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4}, {141, 4800, 50},
       {"PCIe 5 x16", "NVLink 4", 450}, 700,
       "NVIDIA H200 datasheet, 2024"},
      {"GH200", {"GH200 480GB"}, kHopper, 2023,
       {132, 1980}, {.vector = 66.9, .tf32 = 494.7, .fp16 = 989.4, .bf16 = 989.4}, {96, 4000, 50},
       {"NVLink-C2C", "NVLink 4", 450}, 1000,
       "NVIDIA GH200 Grace Hopper datasheet, 2023 (HBM3 model; power of the module with its CPU)"},

      // Blackwell
      {"B100", {}, kBlackwell, 2024,
       {148, 1600}, {.vector = 60.6, .tf32 = 875, .fp16 = 1750, .bf16 = 1750}, {180, 7700, 126},
       {"PCIe 5 x16", "NVLink 5", 900}, 700,
       "NVIDIA Blackwell architecture brief, 2024 (memory, sms and L2 taken to be those of B200)"},
      {"B200", {"B200 SXM"}, kBlackwell, 2024,
       {148, 1965}, {.vector = 74.5, .tf32 = 1125, .fp16 = 2250, .bf16 = 2250}, {180, 7700, 126},
       {"PCIe 5 x16", "NVLink 5", 900}, 1000,
       "NVIDIA HGX B200 datasheet, 2024 (sms and L2 as the driver reports them)"},
      {"GB200", {}, kBlackwell, 2024,
       {152, 2062}, {.vector = 80.2, .tf32 = 1250, .fp16 = 2500, .bf16 = 2500}, {186, 8000, 126},
       {"NVLink-C2C", "NVLink 5", 900}, 1200,
       "NVIDIA GB200 NVL72 datasheet, 2024 (one of two GPUs; sms and L2 as the driver reports them)"},
      {"B300", {"B300 SXM"}, kBlackwell, 2025,
       {148, 1980}, {.vector = 75, .tf32 = 1125, .fp16 = 2250, .bf16 = 2250}, {288, 8000, 126},
       {"PCIe 5 x16", "NVLink 5", 900}, 0,
       "NVIDIA HGX B300 announcement, 2025 (an eighth of the board; sms, L2 and PCIe taken to be those of B200, clock "
       "derived; power not certain)"},
      {"RTX PRO 6000", {"RTX PRO 6000 Blackwell", "RTX PRO 6000 Blackwell Workstation Edition"}, kBlackwell, 2025,
       {188, 2597}, {.vector = 125, .tf32 = 250, .fp16 = 500, .bf16 = 500}, {96, 1792, 128}, kPcie5, 600,
       "NVIDIA RTX PRO 6000 Blackwell announcement, 2025 (16-bit rate: an eighth of its 4,000 TOPS of sparse fp4; clock "
       "derived)"},
      {"RTX 5080", {}, kBlackwell, 2025,
       {84, 2617}, {.vector = 56.3, .tf32 = 56.3, .fp16 = 112.6, .bf16 = 112.6}, {16, 960, 64}, kPcie5, 360,
       "NVIDIA RTX Blackwell architecture whitepaper, 2025"},
      {"RTX 5090", {}, kBlackwell, 2025,
       {170, 2407}, {.vector = 104.8, .tf32 = 104.8, .fp16 = 209.5, .bf16 = 209.5}, {32, 1792, 96}, kPcie5, 575,
       "NVIDIA RTX Blackwell architecture whitepaper, 2025"},

      // AMD
      {"MI25", {}, kVega, 2017, {64, 1500}, {.vector = 12.29, .fp16 = 24.6}, {16, 484, 4}, kPcie3, 300,
       "AMD Radeon Instinct MI25 datasheet, 2017"},
      {"MI50", {}, kVega, 2018,
       {60, 1725}, {.vector = 13.25, .fp16 = 26.5}, {16, 1024, 4}, {"PCIe 4 x16", "Infinity Fabric", 92}, 300,
       "AMD Radeon Instinct MI50 datasheet, 2018"},
      {"MI100", {}, kCdna, 2020,
       {120, 1502}, {.vector = 23.07, .fp32_matrix = 46.1, .fp16 = 184.6, .bf16 = 92.3}, {32, 1229, 8},
       {"PCIe 4 x16", "Infinity Fabric", 138}, 300,
       "AMD Instinct MI100 datasheet, 2020"},
      {"MI210", {}, kCdna2, 2021,
       {104, 1700}, {.vector = 22.63, .fp32_matrix = 45.3, .fp16 = 181, .bf16 = 181}, {64, 1638, 8},
       {"PCIe 4 x16", "Infinity Fabric", 150}, 300,
       "AMD Instinct MI210 datasheet, 2022"},
      {"MI250", {}, kCdna2, 2021,
       {104, 1700}, {.vector = 22.63, .fp32_matrix = 45.25, .fp16 = 181, .bf16 = 181}, {64, 1638, 8},
       {"PCIe 4 x16", "Infinity Fabric", 150}, 280,
       "AMD Instinct MI250 datasheet, 2021 (one of two dies; module 362.1 TFLOP/s fp16, 560 W)"},
      {"MI250X", {}, kCdna2, 2021,
       {110, 1700}, {.vector = 23.94, .fp32_matrix = 47.85, .fp16 = 191.5, .bf16 = 191.5}, {64, 1638, 8},
       {"PCIe 4 x16", "Infinity Fabric", 200}, 280,
       "AMD Instinct MI250X datasheet, 2021 (one of two dies; module 383 TFLOP/s fp16, 560 W)"},
      {"MI300X", {}, kCdna3, 2023,
       {304, 2100}, {.vector = 163.4, .tf32 = 653.7, .fp16 = 1307.4, .bf16 = 1307.4}, {192, 5325, 256},
       {"PCIe 5 x16", "Infinity Fabric", 448}, 750,
       "AMD Instinct MI300X datasheet, 2023"},
      {"MI325X", {}, kCdna3, 2024,
       {304, 2100}, {.vector = 163.4, .tf32 = 653.7, .fp16 = 1307.4, .bf16 = 1307.4}, {256, 6000, 256},
       {"PCIe 5 x16", "Infinity Fabric", 448}, 1000,
       "AMD Instinct MI325X datasheet, 2024"},

      // Intel. No fp32 matrix figure is published: fp32 is the vector rate, half of the published bf16 vector rate.
      {"Gaudi2", {"HL-225"}, kGaudi, 2022,
       {24, 1800}, {.vector = 5.5, .bf16 = 432}, {96, 2450, 48}, {"PCIe 4 x16", "Gaudi RoCE", 300}, 600,
       "Intel Gaudi 2 whitepaper, 2022; Intel at Hot Chips, 2024"},
      {"Gaudi3", {"HL-325L"}, kGaudi, 2024,
       {64, 1750}, {.vector = 14.35, .bf16 = 1835}, {128, 3670, 96}, {"PCIe 5 x16", "Gaudi RoCE", 600}, 900,
       "Intel Gaudi 3 whitepaper, 2024"},

      // Google. An fp32 product is six bf16 passes (XLA's highest precision), so fp32 is a sixth of bf16.
      {"TPU v2", {}, kTpu, 2017,
       {2, 700}, {.vector = 2.87, .fp32_matrix = 46. / 6, .bf16 = 46}, {16, 700, 32}, {"PCIe 3 x16", "ICI", 248}, 280,
       "Jouppi et al., A Domain-Specific Supercomputer, CACM 2020"},
      {"TPU v3", {}, kTpu, 2018,
       {2, 940}, {.vector = 3.85, .fp32_matrix = 123. / 6, .bf16 = 123}, {32, 900, 32}, {"PCIe 3 x16", "ICI", 328}, 450,
       "Jouppi et al., A Domain-Specific Supercomputer, CACM 2020"},
      {"TPU v4", {}, kTpu, 2021,
       {2, 1050}, {.vector = 4.3, .fp32_matrix = 275. / 6, .bf16 = 275}, {32, 1200, 160},
       {"PCIe 3 x16", "ICI", 300}, 192,
       "Jouppi et al., TPU v4, ISCA 2023 (power is the largest measured)"},
      {"TPU v5e", {"TPU v5 lite"}, kTpu5, 2023,
       {1, 1500}, {.vector = 6.14, .fp32_matrix = 197. / 6, .bf16 = 197}, {16, 819, 128}, {"PCIe 3 x16", "ICI", 200}, 0,
       "Google Cloud TPU v5e documentation, 2023 (vector rate derived; power not published)"},
      {"TPU v5p", {}, kTpu5, 2023,
       {2, 1750}, {.vector = 14.3, .fp32_matrix = 459. / 6, .bf16 = 459}, {95, 2765, 0}, {"PCIe 3 x16", "ICI", 600}, 0,
       "Google Cloud TPU v5p documentation, 2023 (vector rate derived; L2 and power not published)"},

      // A small rented server without an accelerator: two EPYC cores at base clock, AVX2. Turbo may beat the peak,
      // a busy host may not reach it. Bandwidth is a measured triad; power is two shares of a 64-core 280 W part.
      {"CPU", {"EPYC", "x86"}, kZen3, 2021,
       {2, 2450}, {.vector = 0.1568}, {24, 25, 32}, kNoLink, 8.75,
       "AMD EPYC 7003 datasheet, 2021 (2 cores × 2.45 GHz × 2 FMA × 8 lanes × 2; bandwidth measured)"},
  };
}
// clang-format on

Device to_device(const Row& row) {
  const TeraFlops& peak = row.peak;
  return {
      .name = row.name,
      .aliases = row.aliases,
      .vendor = row.architecture.vendor,
      .architecture = row.architecture.name,
      .year = row.year,
      .kind = row.architecture.kind,
      .fp32 = teraflops(peak.fp32_matrix > 0 ? peak.fp32_matrix : peak.vector),
      .tf32 = teraflops(peak.tf32),
      .fp16 = teraflops(peak.fp16),
      .bf16 = teraflops(peak.bf16),
      .fp32_vector = teraflops(peak.vector),
      .memory = gibibytes(row.memory.gib),
      .memory_bandwidth = gigabytes_per_second(row.memory.gb_s),
      .sms = row.clock.sms,
      .fp32_lanes_per_sm = row.architecture.fp32_lanes_per_sm,
      .boost_mhz = row.clock.boost_mhz,
      .l2 = mebibytes(row.memory.l2_mib),
      .link = row.links.link,
      .link_bandwidth = gigabytes_per_second(row.links.gb_s),
      .pcie = row.links.pcie,
      .tdp = Watts(row.tdp_w),
      .source = row.source,
  };
}

std::vector<Device> make_devices() {
  std::vector<Device> devices;
  for (const Row& row : rows()) devices.push_back(to_device(row));
  return devices;
}

}  // namespace

std::span<const Device> all_devices() {
  static const std::vector<Device> kDevices = make_devices();
  return kDevices;
}

}  // namespace orrery::hardware
