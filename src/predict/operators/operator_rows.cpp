#include "predict/operators/operator_rows.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery::predict {

namespace {

constexpr double kFloatBytes = 4;

struct Tile {
  double height, width;
};
constexpr Tile kTiles[] = {{128, 128}, {64, 64}, {128, 64}, {32, 32}};

float log2_of(double value) {
  return static_cast<float>(std::log2(std::max(value, 1e-30)));
}

// How many factors of two, up to 8, divide a size: what decides whether loads can be wide.
float alignment(double size) {
  const auto whole = static_cast<std::int64_t>(size);
  return whole % 8 == 0 ? 3.0F : whole % 4 == 0 ? 2.0F : whole % 2 == 0 ? 1.0F : 0.0F;
}

// Arithmetic beside the bare minimum, in steps: powers cost most, then transcendental functions, then division.
float arithmetic_cost(std::string_view name) {
  if (name == "pow") return 3;
  if (name == "powu" || name == "gelu" || name == "tanh") return 2;
  if (name == "div" || name == "divu") return 1;
  return 0;
}

double operands(std::string_view name) {
  const bool two_inputs = name == "add" || name == "mul" || name == "div" || name == "pow";
  return two_inputs ? 3 : 2;
}

}  // namespace

std::string_view to_string(OperatorClass operator_class) {
  switch (operator_class) {
    case OperatorClass::kBatchedProduct:
      return "bmm";
    case OperatorClass::kLinear:
      return "linear";
    case OperatorClass::kElementwise:
      return "elementwise";
    case OperatorClass::kSoftmax:
      return "softmax";
    case OperatorClass::kLayerNorm:
      return "layer norm";
  }
  return "";
}

std::vector<std::string> product_feature_names() {
  std::vector<std::string> names = {"compute_us", "memory_us", "compute_to_memory", "m",        "n",
                                    "k",          "b",         "smaller_side",      "l2_share", "l2_share_of_one"};
  for (const char* tile : {"128x128", "64x64", "128x64", "32x32"}) {
    for (const char* what : {"waves_", "filling_", "padding_"}) names.push_back(std::string(what) + tile);
  }
  for (const char* side : {"n", "k", "m"}) names.push_back(std::string("alignment_") + side);
  return names;
}

PhysicalRow product_row(const OperatorShape& shape, const DeviceFacts& device) {
  const auto& [name, b, m, n, k] = shape;
  const double bytes_of_one = kFloatBytes * (m * n + n * k + m * k);
  const double compute_us = 2 * b * m * n * k / device.usable_peak * 1e6;
  const double memory_us = b * bytes_of_one / device.bandwidth * 1e6;
  PhysicalRow row;
  row.roof_ms = std::max(compute_us, memory_us) * 1e-3;
  row.features = {log2_of(compute_us),
                  log2_of(memory_us),
                  log2_of(compute_us / memory_us),
                  log2_of(m),
                  log2_of(n),
                  log2_of(k),
                  log2_of(b),
                  log2_of(std::min(m, k)),
                  log2_of(b * bytes_of_one / device.l2_bytes),
                  log2_of(bytes_of_one / device.l2_bytes)};
  for (const Tile& tile : kTiles) {
    const double upright = b * std::ceil(m / tile.height) * std::ceil(k / tile.width);
    const double across = b * std::ceil(k / tile.height) * std::ceil(m / tile.width);
    const double tiles = std::min(upright, across);
    const double waves = tiles / device.sms;
    row.features.push_back(log2_of(waves));
    row.features.push_back(static_cast<float>(waves / std::ceil(waves)));
    row.features.push_back(static_cast<float>(b * m * k / (tiles * tile.height * tile.width)));
  }
  for (const double side : {n, k, m}) row.features.push_back(alignment(side));
  return row;
}

std::vector<std::string> elementwise_feature_names() {
  return {"memory_us",       "compute_us",  "row_length",        "rows",     "operands", "arithmetic", "l2_share",
          "elements_per_sm", "rows_per_sm", "compute_to_memory", "alignment"};
}

PhysicalRow elementwise_row(const OperatorShape& shape, const DeviceFacts& device) {
  const double elements = shape.b * shape.m;
  const double bytes = kFloatBytes * operands(shape.name) * elements;
  PhysicalRow row;
  row.roof_ms = bytes / device.bandwidth * 1e3;
  row.features = {log2_of(row.roof_ms * 1e3),
                  log2_of(elements / device.usable_peak * 1e6),
                  log2_of(shape.m),
                  log2_of(shape.b),
                  static_cast<float>(operands(shape.name)),
                  arithmetic_cost(shape.name),
                  log2_of(bytes / device.l2_bytes),
                  log2_of(elements / device.sms / 1024),
                  log2_of(shape.b / device.sms),
                  log2_of(device.usable_peak / device.bandwidth),
                  alignment(shape.m)};
  return row;
}

std::vector<std::string> feature_names(OperatorClass operator_class) {
  const bool is_product = operator_class == OperatorClass::kBatchedProduct || operator_class == OperatorClass::kLinear;
  return is_product ? product_feature_names() : elementwise_feature_names();
}

PhysicalRow physical_row(OperatorClass operator_class, const OperatorShape& shape, const DeviceFacts& device) {
  const bool is_product = operator_class == OperatorClass::kBatchedProduct || operator_class == OperatorClass::kLinear;
  return is_product ? product_row(shape, device) : elementwise_row(shape, device);
}

}  // namespace orrery::predict
