#pragma once
// One training step or forward pass of a single convolution or dense layer, as a physical estimate and features.
//
// With F the operations of the forward pass, x, y, w the elements of input, output and weights, and p = 3 passes when
// training (forward, gradient of the input, gradient of the weights), else 1:
//
//   roof = 1.2 p F / usable peak + 6 (p x + (p + 1 or 1) y) · 4 / mixed + c · (reads and writes of the update) w · 4 /
//   mixed
//
// where mixed = bandwidth^0.43 · (usable peak / 15)^0.57: moving a layer's tensors through transposes, padding and
// unrolled windows is bound neither by bandwidth alone nor by arithmetic alone, and a mean of both holds over
// generations. The other factors are round; what they miss is learned.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "lab/lab.h"
#include "predict/operators/operator_rows.h"

namespace orrery::lab {

enum class LayerClass { kConvolution, kDense };

inline constexpr std::size_t kLayerOptimizers = 7;
// The place of an optimizer, 0 for "None" (forward only); an error for an unknown one.
Result<std::size_t> optimizer_index(std::string_view name);
Result<std::size_t> activation_index(std::string_view name);

struct Layer {
  double batch = 1;
  double side = 1, kernel = 1, stride = 1;  // of a convolution: height = width
  bool same_padding = false, bias = false;
  double inputs = 1, outputs = 1;  // channels or features
  std::size_t optimizer = 0;
  std::size_t activation = 0;
};

struct LayerMeasurement {
  Layer layer;
  double time_ms = 0;
};

// conv_DEVICE.csv and dense_DEVICE.csv: one row per layer with the median time.
Result<std::vector<LayerMeasurement>> parse_layers(std::string_view csv, LayerClass layer_class);

std::vector<std::string> layer_feature_names();
PhysicalRow layer_row(const Layer& layer, LayerClass layer_class, const DeviceFacts& device);

}  // namespace orrery::lab
