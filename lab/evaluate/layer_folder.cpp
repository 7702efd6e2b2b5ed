#include "lab/evaluate/layer_folder.h"

#include <algorithm>

namespace orrery::lab {

namespace {

struct LayerFile {
  std::string path;
  std::string device;
};

// conv_K40.csv.gz → K40.
std::vector<LayerFile> files_of(const std::vector<std::string>& names, const std::string& folder,
                                const std::string& prefix) {
  std::vector<LayerFile> files;
  for (const std::string& name : names) {
    if (!name.starts_with(prefix + "_")) continue;
    const std::size_t begin = prefix.size() + 1;
    files.push_back({folder + "/" + name, name.substr(begin, name.find('.') - begin)});
  }
  return files;
}

}  // namespace

Status read_layers(const SuiteInput& input, const std::string& folder, LayerClass layer_class, bool to_fit,
                   bool to_score, LayerData& data) {
  const std::string prefix = layer_class == LayerClass::kDense ? "dense" : "conv";
  auto names = input.files.list(folder);
  if (!names) {
    return std::move(names).error().with_context(
        "the measurements (set ORRERY_DATA to the folder that holds data/, or give --train DIR)");
  }
  std::vector<float> baseline_row;
  for (const LayerFile& file : files_of(*names, folder, prefix)) {
    ORRERY_TRY(const hardware::Device* device, hardware::find_device(file.device));
    const auto same = [&](const DeviceFacts& facts) { return facts.name == device->name; };
    auto place = std::find_if(data.devices.begin(), data.devices.end(), same);
    if (place == data.devices.end()) place = data.devices.insert(place, facts_of(*device));
    const auto index = static_cast<std::size_t>(place - data.devices.begin());
    ORRERY_TRY(const std::string csv, read_data(input.files, "", file.path));
    auto layers = parse_layers(csv, layer_class);
    if (!layers) return std::move(layers).error().with_context(file.path);
    for (const LayerMeasurement& measurement : *layers) {
      const PhysicalRow physical = layer_row(measurement.layer, layer_class, data.devices[index]);
      data.features.add(physical.features);
      data.rows.push_back({.device = index,
                           .kind = measurement.layer.optimizer,
                           .roof_ms = physical.roof_ms,
                           .measured_ms = measurement.time_ms,
                           .weight = to_fit ? 1.0 : 0.0,
                           .group = measurement.layer.optimizer == 0 ? "forward" : "training"});
      if (input.baselines) {
        layer_mlp_row(measurement.layer, data.devices[index], baseline_row);
        data.hyper_parameters.add(baseline_row);
      }
      data.is_scored.push_back(to_score ? 1 : 0);
    }
  }
  return {};
}

}  // namespace orrery::lab
