#include "predict/operators/device_facts.h"

#include <algorithm>
#include <limits>

namespace orrery::predict {

namespace {

constexpr double kPicojoule = 1e-12;
constexpr double kGeForceBoost = 1.15;

struct Limits {
  std::string_view architecture;
  int lanes;  // per multiprocessor; 0: any
  double generation;
  double issue_share;
  double picojoules;  // per fp32 operation
};

constexpr Limits kLimits[] = {{"Kepler", 0, 3.5, 0.67, 55}, {"Maxwell", 0, 5, 1, 31},   {"Pascal", 0, 6, 1, 18},
                              {"Volta", 0, 7, 1, 18},       {"Turing", 0, 7.5, 1, 18},  {"Ampere", 64, 8, 1, 15.4},
                              {"Ampere", 128, 8, 0.78, 9},  {"Ada", 0, 8.9, 0.78, 5.4}, {"Hopper", 0, 9, 0.78, 8},
                              {"Blackwell", 0, 10, 0.78, 5}};

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
  facts.usable_peak = facts.peak * limits->issue_share * (is_geforce ? kGeForceBoost : 1);
  if (device.tdp.value() > 0) {
    facts.usable_peak = std::min(facts.usable_peak, device.tdp.value() / (limits->picojoules * kPicojoule));
  }
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
