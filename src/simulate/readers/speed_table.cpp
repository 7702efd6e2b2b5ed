#include "simulate/readers/speed_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace orrery::simulate {

namespace {

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
      if (!alone.is_number()) continue;
      double& speed = table.speeds_[*key];
      speed = std::max(speed, alone.get<double>());
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

std::optional<double> SpeedTable::steps_per_s(std::string_view model, int gpus) const {
  const auto found = speeds_.find(std::pair(std::string(model), gpus));
  if (found == speeds_.end() || !(found->second > 0)) return std::nullopt;
  return found->second;
}

}  // namespace orrery::simulate
