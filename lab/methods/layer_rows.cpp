#include "lab/methods/layer_rows.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "predict/operators/operator_data.h"

namespace orrery::lab {

namespace {

constexpr double kFloatBytes = 4;
constexpr double kFlopsPerByte = 15;  // where a device of any generation is neither bound by memory nor by arithmetic

constexpr double kArithmeticPart = 0.57;  // of the rate at which tensors move; the rest is bandwidth

double mixed_rate(const DeviceFacts& device) {
  return std::pow(device.bandwidth, 1 - kArithmeticPart) *
         std::pow(device.usable_peak / kFlopsPerByte, kArithmeticPart);
}

struct Optimizer {
  std::string_view name;
  double accesses;  // reads and writes of each weight and its state in one update
};
constexpr Optimizer kOptimizers[kLayerOptimizers] = {{"None", 0},    {"SGD", 3},  {"Momentum", 5}, {"Adagrad", 5},
                                                     {"RMSProp", 7}, {"Adam", 7}, {"Adadelta", 9}};
constexpr std::string_view kActivations[] = {"None", "relu", "tanh", "sigmoid"};

float log2_of(double value) {
  return static_cast<float>(std::log2(std::max(value, 1e-12)));
}

// A layer as the matrix product it is computed by, and the elements it touches.
struct Product {
  double rows, inner, columns;
  double input, output, weights;
};

Product product_of(const Layer& layer, LayerClass layer_class) {
  if (layer_class == LayerClass::kDense) {
    return {layer.batch,
            layer.inputs,
            layer.outputs,
            layer.batch * layer.inputs,
            layer.batch * layer.outputs,
            layer.inputs * layer.outputs};
  }
  const double valid = std::floor((layer.side - layer.kernel) / layer.stride) + 1;
  const double out = std::max(1.0, layer.same_padding ? std::ceil(layer.side / layer.stride) : valid);
  const double window = layer.kernel * layer.kernel * layer.inputs;
  return {layer.batch * out * out,
          window,
          layer.outputs,
          layer.batch * layer.side * layer.side * layer.inputs,
          layer.batch * out * out * layer.outputs,
          window * layer.outputs};
}

Result<std::string> text_field(const CsvTable& table, const CsvRow& row, std::string_view column) {
  ORRERY_TRY(const std::size_t place, table.column(column));
  return row.fields[place];
}

template <std::size_t N, class Names>
Result<std::size_t> index_in(const Names (&names)[N], std::string_view name, std::string_view what) {
  for (std::size_t i = 0; i < N; ++i) {
    if constexpr (std::is_same_v<Names, Optimizer>) {
      if (names[i].name == name) return i;
    } else {
      if (names[i] == name) return i;
    }
  }
  return Error::invalid(fmt::format("unknown {} {}", what, quote(name)));
}

Result<LayerMeasurement> parse_layer(const CsvTable& table, const CsvRow& row, LayerClass layer_class) {
  LayerMeasurement measurement;
  Layer& layer = measurement.layer;
  ORRERY_TRY(layer.batch, positive_field(table, row, "batchsize"));
  ORRERY_TRY(measurement.time_ms, positive_field(table, row, "time_ms_median"));
  ORRERY_TRY(const std::string optimizer, text_field(table, row, "optimizer"));
  ORRERY_TRY(layer.optimizer, optimizer_index(optimizer));
  ORRERY_TRY(const std::string activation, text_field(table, row, "activation"));
  ORRERY_TRY(layer.activation, activation_index(activation));
  if (layer_class == LayerClass::kDense) {
    ORRERY_TRY(layer.inputs, positive_field(table, row, "dim_input"));
    ORRERY_TRY(layer.outputs, positive_field(table, row, "dim_output"));
    return measurement;
  }
  ORRERY_TRY(layer.side, positive_field(table, row, "matsize"));
  ORRERY_TRY(layer.kernel, positive_field(table, row, "kernelsize"));
  ORRERY_TRY(layer.stride, positive_field(table, row, "strides"));
  ORRERY_TRY(layer.inputs, positive_field(table, row, "channels_in"));
  ORRERY_TRY(layer.outputs, positive_field(table, row, "channels_out"));
  ORRERY_TRY(const std::string padding, text_field(table, row, "padding"));
  ORRERY_TRY(const std::string bias, text_field(table, row, "use_bias"));
  layer.same_padding = padding == "1";
  layer.bias = bias == "1";
  return measurement;
}

}  // namespace

Result<std::size_t> optimizer_index(std::string_view name) {
  return index_in(kOptimizers, name, "optimizer");
}

Result<std::size_t> activation_index(std::string_view name) {
  return index_in(kActivations, name, "activation");
}

Result<std::vector<LayerMeasurement>> parse_layers(std::string_view csv, LayerClass layer_class) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  std::vector<LayerMeasurement> measurements;
  for (const CsvRow& row : table.rows) {
    auto measurement = parse_layer(table, row, layer_class);
    if (!measurement) return std::move(measurement).error().with_context(fmt::format("line {}", row.line));
    measurements.push_back(*measurement);
  }
  return measurements;
}

std::vector<std::string> layer_feature_names() {
  std::vector<std::string> names = {
      "compute_ms",   "memory_ms", "input_ms",   "output_ms",   "weights_ms", "compute_to_memory",
      "optimizer",    "accesses",  "activation", "is_training", "batch",      "side",
      "kernel",       "inputs",    "outputs",    "padding",     "stride",     "bias",
      "product_rows", "inner",     "l2_share",   "weight_waves"};
  for (const char* tile : {"128x128", "64x64", "128x32"}) {
    for (const char* what : {"waves_", "filling_", "padding_"}) names.push_back(std::string(what) + tile);
  }
  return names;
}

PhysicalRow layer_row(const Layer& layer, LayerClass layer_class, const DeviceFacts& device) {
  const Product product = product_of(layer, layer_class);
  const bool is_training = layer.optimizer != 0;
  const bool is_dense = layer_class == LayerClass::kDense;
  const double accesses = kOptimizers[layer.optimizer].accesses;
  const double mixed = mixed_rate(device);
  const double flops = 2 * product.rows * product.inner * product.columns;
  const double compute = flops * (is_training ? 3 : 1) / device.usable_peak * 1e3;
  const double input = kFloatBytes * product.input * (is_training ? 3 : 1) / mixed * 1e3;
  const double activation_passes = layer.activation > 0 ? 1.7 : 1;
  const double output = kFloatBytes * product.output * (is_training ? 4 : 1) * activation_passes / mixed * 1e3;
  const double weight_bytes = kFloatBytes * product.weights * (is_training ? 2 + accesses : 1);
  const double weights = weight_bytes / (is_dense ? mixed : device.bandwidth) * 1e3;
  const double memory = input + output + weights;

  PhysicalRow row;
  row.roof_ms = 1.2 * compute + 6 * (input + output) + (is_dense ? 2 : 8) * weights;
  const auto flag = [](bool value) { return value ? 1.0F : 0.0F; };
  row.features = {log2_of(compute),
                  log2_of(memory),
                  log2_of(input),
                  log2_of(output),
                  log2_of(weights),
                  log2_of(compute / memory),
                  static_cast<float>(layer.optimizer),
                  static_cast<float>(accesses),
                  static_cast<float>(layer.activation),
                  flag(is_training),
                  log2_of(layer.batch),
                  log2_of(layer.side),
                  static_cast<float>(layer.kernel),
                  log2_of(layer.inputs),
                  log2_of(layer.outputs),
                  flag(layer.same_padding),
                  static_cast<float>(layer.stride),
                  flag(layer.bias),
                  log2_of(product.rows),
                  log2_of(product.inner),
                  log2_of(kFloatBytes * (product.input + product.output + product.weights) / device.l2_bytes),
                  log2_of(std::ceil(product.inner / 64) * std::ceil(product.columns / 64) / device.sms)};
  constexpr std::pair<double, double> kTiles[] = {{128, 128}, {64, 64}, {128, 32}};
  for (const auto& [height, width] : kTiles) {
    const double tiles = std::ceil(product.rows / height) * std::ceil(product.columns / width);
    const double waves = tiles / device.sms;
    row.features.push_back(log2_of(waves));
    row.features.push_back(static_cast<float>(waves / std::ceil(waves)));
    row.features.push_back(static_cast<float>(product.rows * product.columns / (tiles * height * width)));
  }
  return row;
}

}  // namespace orrery::lab
