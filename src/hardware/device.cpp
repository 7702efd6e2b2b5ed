#include "hardware/device.h"

#include <fmt/format.h>
#include <map>

#include "base/text.h"
#include "hardware/name_key.h"

namespace orrery::hardware {
namespace {

using DevicesByKey = std::map<std::string, const Device*, std::less<>>;

DevicesByKey index_devices() {
  DevicesByKey by_key;
  for (const Device& device : all_devices()) {
    by_key.emplace(name_key(device.name), &device);
    for (const std::string_view alias : device.aliases) by_key.emplace(name_key(alias), &device);
  }
  return by_key;
}

FlopsPerSecond own_peak(const Device& device, Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return device.fp32;
    case Precision::kTf32:
      return device.tf32;
    case Precision::kFp16:
      return device.fp16;
    case Precision::kBf16:
      return device.bf16;
  }
  return device.fp32;
}

}  // namespace

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kGpu:
      return "gpu";
    case DeviceKind::kAccelerator:
      return "accelerator";
    case DeviceKind::kCpu:
      return "cpu";
  }
  return "gpu";
}

const Device* find_device_or_null(std::string_view name) {
  static const DevicesByKey kByKey = index_devices();
  const auto found = kByKey.find(name_key(name));
  return found == kByKey.end() ? nullptr : found->second;
}

Result<const Device*> find_device(std::string_view name) {
  if (const Device* found = find_device_or_null(name)) return found;
  std::vector<std::string> names;
  for (const Device& device : all_devices()) {
    names.emplace_back(device.name);
    names.insert(names.end(), device.aliases.begin(), device.aliases.end());
  }
  return Error::not_found(fmt::format("unknown device \"{}\"{}", name, did_you_mean(name, names)));
}

bool supports(const Device& device, Precision precision) {
  return own_peak(device, precision) > FlopsPerSecond(0);
}

FlopsPerSecond matrix_peak(const Device& device, Precision precision) {
  return supports(device, precision) ? own_peak(device, precision) : device.fp32;
}

}  // namespace orrery::hardware
