#include "predict/operators/device_facts.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::predict {

namespace {

constexpr double kPicojoule = 1e-12;
constexpr double kGeForceBoost = 1.15;

constexpr double kPowerExponent = 0.6;
constexpr double kVoltageFloor = 0.6;  // share of the power

struct Limits {
  std::string_view architecture;
  int lanes;  // per multiprocessor; 0: any
  double generation;
  double issue_share;
  double picojoules;  // per fp32 operation, from the board named behind it
};

constexpr Limits kLimits[] = {{"Kepler", 0, 3.5, 0.67, 46.6},    // K40
                              {"Maxwell", 0, 5, 1, 33},          // GTX 980
                              {"Pascal", 64, 6, 1, 28.3},        // P100 SXM2
                              {"Pascal", 128, 6, 1, 20.3},       // GTX 1080
                              {"Volta", 0, 7, 1, 19.1},          // V100 SXM2
                              {"Turing", 0, 7.5, 1, 21.4},       // RTX 2080
                              {"Ampere", 64, 8, 1, 20.5},        // A100 SXM4
                              {"Ampere", 128, 8, 0.78, 9.8},     // RTX 3090
                              {"Ada", 0, 8.9, 0.78, 6.2},        // between RTX 4070 Ti and RTX 4090
                              {"Hopper", 0, 9, 0.78, 10.4},      // H100 SXM5
                              {"Blackwell", 0, 10, 0.78, 6.2}};  // as Ada

// The share of its peak a board holds with the share `power` of what the peak would need.
double held_share(double power) {
  if (power >= 1) return 1;
  if (power >= kVoltageFloor) return std::pow(power, kPowerExponent);
  return power * std::pow(kVoltageFloor, kPowerExponent - 1);
}

const Limits* find_limits(const hardware::Device& device) {
  for (const Limits& limits : kLimits) {
    const bool same_lanes = limits.lanes == 0 || limits.lanes == device.fp32_lanes_per_sm;
    if (limits.architecture == device.architecture && same_lanes) return &limits;
  }
  return nullptr;
}

void apply(const hardware::Device& device, DeviceFacts& facts) {
  const Limits* limits = find_limits(device);
  if (limits == nullptr) return;
  facts.generation = limits->generation;
  const bool is_geforce = device.name.starts_with("GTX") || device.name.starts_with("RTX");
  double share = limits->issue_share;
  if (device.tdp.value() > 0) {
    share = std::min(share, held_share(device.tdp.value() / (facts.peak * limits->picojoules * kPicojoule)));
  }
  facts.usable_peak = facts.peak * share * (is_geforce ? kGeForceBoost : 1);
}

}  // namespace

DeviceFacts facts_of(const hardware::Device& device) {
  DeviceFacts facts{.name = std::string(device.name),
                    .peak = device.fp32_vector.value(),
                    .usable_peak = device.fp32_vector.value(),
                    .bandwidth = device.memory_bandwidth.value(),
                    .sms = static_cast<double>(device.sms),
                    .l2_bytes = std::max(device.l2.value(), 1e6),
                    .generation = std::numeric_limits<double>::quiet_NaN()};
  apply(device, facts);
  return facts;
}

DeviceFacts with_limits(DeviceFacts rated) {
  rated.usable_peak = rated.peak;
  rated.generation = std::numeric_limits<double>::quiet_NaN();
  const hardware::Device* device = hardware::find_device_or_null(rated.name);
  if (device != nullptr) apply(*device, rated);
  return rated;
}

}  // namespace orrery::predict
