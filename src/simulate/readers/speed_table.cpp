#include "simulate/readers/speed_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace orrery::simulate {

namespace {

constexpr double kScalingPower = 0.9;
constexpr int kGpusPerNode = 4, kGpusMeasuredMax = 64;  // of the nodes the applications were measured on

// "('ResNet-18 (batch size 16)', 1)" as model and GPUs.
std::optional<std::pair<std::string, int>> parse_key(const std::string& key) {
  const std::size_t begin = key.find('\''), end = key.rfind('\''), comma = key.rfind(',');
  if (begin == std::string::npos || end <= begin || comma == std::string::npos || comma < end) return std::nullopt;
  const auto gpus = parse_number(std::string_view(key).substr(comma + 1, key.size() - comma - 2));
  if (!gpus || *gpus < 1 || *gpus > 1 << 20) return std::nullopt;
  return std::pair(key.substr(begin + 1, end - begin - 1), static_cast<int>(*gpus));
}

}  // namespace

Result<SpeedTable> SpeedTable::parse(std::string_view json) {
  SpeedTable table;
  const auto root = nlohmann::json::parse(json, nullptr, false);
  if (!root.is_object()) return Error::invalid("speeds: expected JSON with an object for each device type");
  for (const auto& device : root.items()) {
    if (!device.value().is_object() || device.key().ends_with("_unconsolidated")) continue;
    for (const auto& entry : device.value().items()) {
      const auto key = parse_key(entry.key());
      if (!key || !entry.value().is_object() || !entry.value().contains("null")) continue;
      const auto& alone = entry.value()["null"];
      // A speed of 0 means that the model does not run there.
      if (alone.is_number() && alone.get<double>() > 0) table.speeds_[device.key()][*key] = alone.get<double>();
    }
  }
  if (table.speeds_.empty())
    return Error::invalid("speeds: no entry of the form \"('MODEL', GPUS)\": {\"null\": STEPS_PER_S}");
  return table;
}

SpeedTable SpeedTable::of(const Applications& applications) {
  SpeedTable table;
  for (const auto& entry : applications) {
    const Application& application = entry.second;
    for (const int batch : application.validated_batches()) {
      for (int gpus = 1; gpus <= kGpusMeasuredMax; ++gpus) {
        std::vector<int> per_node(static_cast<std::size_t>(gpus / kGpusPerNode), kGpusPerNode);
        if (gpus % kGpusPerNode != 0) per_node.push_back(gpus % kGpusPerNode);
        const BatchSplit split = application.split(batch, gpus, false);
        const auto step = application.step_time(per_node, split.per_gpu);
        const auto steps = application.iterations(batch, application.epochs() - 1);
        if (step && steps) table.runs_s_[{entry.first, batch, gpus}] = *steps * step->total_s(split.accumulations);
      }
    }
  }
  return table;
}

std::optional<double> SpeedTable::run_s(std::string_view application, int batch, int gpus) const {
  const auto found = runs_s_.find({std::string(application), batch, gpus});
  if (found == runs_s_.end()) return std::nullopt;
  return found->second;
}

std::vector<TypedSpeed> SpeedTable::steps_per_s(std::string_view model, int gpus) const {
  std::vector<TypedSpeed> result;
  for (const auto& [device, speeds] : speeds_) {
    const auto found = speeds.find(std::pair(std::string(model), gpus));
    if (found != speeds.end()) result.push_back({device, found->second});
  }
  return result;
}

double SpeedTable::ratio(std::string_view device, int from_gpus, int to_gpus) const {
  std::vector<double> ratios;
  const auto& speeds = speeds_.find(device)->second;
  for (const auto& [key, speed] : speeds) {
    if (key.second != from_gpus) continue;
    const auto other = speeds.find(std::pair(key.first, to_gpus));
    if (other != speeds.end()) ratios.push_back(other->second / speed);
  }
  if (ratios.empty()) return std::pow(static_cast<double>(to_gpus) / from_gpus, kScalingPower);
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

std::vector<TypedSpeed> SpeedTable::predicted_steps_per_s(std::string_view model, int gpus) const {
  std::vector<TypedSpeed> result;
  for (const auto& [device, speeds] : speeds_) {
    int nearest = 0;
    double speed = 0;
    for (const auto& [key, measured] : speeds) {
      if (key.first != model) continue;
      if (nearest != 0 && std::abs(key.second - gpus) >= std::abs(nearest - gpus)) continue;
      nearest = key.second;
      speed = measured;
    }
    if (nearest != 0) result.push_back({device, speed * ratio(device, nearest, gpus)});
  }
  return result;
}

}  // namespace orrery::simulate
