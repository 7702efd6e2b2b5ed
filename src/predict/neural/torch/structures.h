#pragma once
// The structures of network.h on libtorch: which parameters each has, and how it computes.

#include <ATen/ATen.h>
#include <optional>
#include <vector>

#include "predict/neural/network.h"

namespace orrery::predict {

// How a parameter begins: uniform in ±1/√fan_in (as PyTorch's layers do), or constant.
struct ParameterShape {
  std::vector<std::int64_t> sizes;
  std::int64_t fan_in = 0;  // 0: constant
  float constant = 0;
  bool is_trainable = true;
};

std::vector<ParameterShape> parameter_shapes(const NetworkOptions& options);

// A batch as tensors; without edges `sources` and `sinks` are empty.
struct BatchTensors {
  at::Tensor rows;  // rows × inputs
  at::Tensor sources, sinks, edges;
  at::Tensor graphs;
  at::Tensor depths;  // of each graph; undefined: all layers
  std::int64_t graph_count = 0;
};

// answers × outputs. With a seed, dropout is drawn from it; without, nothing is dropped.
at::Tensor run_structure(const NetworkOptions& options, const std::vector<at::Tensor>& parameters,
                         const BatchTensors& batch, std::optional<std::uint64_t> dropout_seed);

}  // namespace orrery::predict
