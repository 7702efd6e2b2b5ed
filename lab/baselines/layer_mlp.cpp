#include "lab/baselines/layer_mlp.h"

#include <fmt/format.h>

namespace orrery::lab {

namespace {

constexpr std::size_t kActivations = 4;

}  // namespace

std::vector<std::string> layer_mlp_names() {
  std::vector<std::string> names = {"batch",  "side",    "kernel",    "stride", "padding", "bias",
                                    "inputs", "outputs", "bandwidth", "peak",   "sms"};
  for (std::size_t i = 0; i < kLayerOptimizers; ++i) names.push_back(fmt::format("optimizer_{}", i));
  for (std::size_t i = 0; i < kActivations; ++i) names.push_back(fmt::format("activation_{}", i));
  return names;
}

void layer_mlp_row(const Layer& layer, const DeviceFacts& device, std::vector<float>& row) {
  row.clear();
  for (const double value :
       {layer.batch, layer.side, layer.kernel, layer.stride, layer.same_padding ? 1.0 : 0.0, layer.bias ? 1.0 : 0.0,
        layer.inputs, layer.outputs, device.bandwidth, device.peak, device.sms}) {
    row.push_back(static_cast<float>(value));
  }
  const std::size_t one_hot = row.size();
  row.resize(one_hot + kLayerOptimizers + kActivations);
  row[one_hot + layer.optimizer] = 1;
  row[one_hot + kLayerOptimizers + layer.activation] = 1;
}

Result<MlpRegression> fit_layer_mlp(const Features& features, std::span<const double> times_ms,
                                    std::span<const std::size_t> chosen, std::uint64_t steps, std::uint64_t seed) {
  Features rows(features.names());
  rows.reserve(chosen.size());
  std::vector<double> targets;
  for (const std::size_t row : chosen) {
    rows.add(features.row(row));
    targets.push_back(mlp_target(OperatorMlpForm::kJustus, times_ms[row]));
  }
  MlpOptions options = mlp_options(OperatorMlpForm::kJustus, steps, seed);
  options.widths = {32, 64, 128, 128, 128, 128};
  return MlpRegression::fit(rows, targets, options);
}

}  // namespace orrery::lab
