#pragma once
// Matrix products and element-wise operators as physical estimates and features (tile × wave × utilisation).
//
// A product of B matrices, M × N by N × K, does F = 2·B·M·N·K operations on 4·B·(M·N + N·K + M·K) bytes. The kernel
// cuts the output into tiles of a × b; with T = B·⌈M/a⌉·⌈K/b⌉ tiles on S multiprocessors it runs in ⌈T/S⌉ waves, of
// which the last may be half empty, and the tiles at the edge are partly padding. Which tile a library takes on a new
// device is not known, so waves, their filling and the padding are features for several tiles. Element-wise operators,
// softmax and layer normalisation move their operands once.
//
//   roof = max(F / usable peak, bytes / bandwidth)
//
// Method: Lee et al., "Forecasting GPU performance for deep learning training and inference" (ASPLOS 2025), with the
// utilisation learned by trees per device instead of one network.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "predict/operators/device_facts.h"

namespace orrery::predict {

enum class OperatorClass { kBatchedProduct, kLinear, kElementwise, kSoftmax, kLayerNorm };

inline constexpr std::array kOperatorClasses = {OperatorClass::kBatchedProduct, OperatorClass::kLinear,
                                                OperatorClass::kElementwise, OperatorClass::kSoftmax,
                                                OperatorClass::kLayerNorm};

std::string_view to_string(OperatorClass operator_class);  // "bmm", "linear", "elementwise", "softmax", "layer norm"

// Sizes of one operator: B, M, N, K of a product; B rows of H elements otherwise, with M = H.
struct OperatorShape {
  std::string name{};  // "add", "gelu", "softmax"…; of products not used
  double b = 1, m = 1, n = 1, k = 1;
};

struct PhysicalRow {
  std::vector<float> features;
  double roof_ms = 0;
};

std::vector<std::string> product_feature_names();
PhysicalRow product_row(const OperatorShape& shape, const DeviceFacts& device);

std::vector<std::string> elementwise_feature_names();
PhysicalRow elementwise_row(const OperatorShape& shape, const DeviceFacts& device);

std::vector<std::string> feature_names(OperatorClass operator_class);
PhysicalRow physical_row(OperatorClass operator_class, const OperatorShape& shape, const DeviceFacts& device);

}  // namespace orrery::predict
