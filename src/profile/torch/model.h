#pragma once
// The tensors of one model, and how each operator computes.

#include <ATen/ATen.h>
#include <vector>

#include "profile/executor.h"
#include "workload/graph.h"

namespace orrery::profile {

struct Model {
  const workload::TrainingGraph& graph;
  at::TensorOptions floats;                          // the device they are on
  bool is_random = true;                             // see ExecutorOptions
  std::vector<std::vector<at::Tensor>> parameters;   // of each node
  std::vector<std::vector<at::Tensor>> buffers;      // of each node: running statistics, index tables
  std::vector<at::Tensor> sources;                   // of each node: data of inputs
  std::vector<at::Tensor> targets;                   // of each node: what losses compare with
  std::vector<std::vector<std::int32_t>> last_uses;  // of each node: the nodes whose outputs it is the last to read
};

// Everything a graph needs, made from the seed. kUnsupported on operators that cannot run.
Result<Model> make_model(const workload::TrainingGraph& graph, at::TensorOptions floats, bool is_random,
                         std::uint64_t seed);

// The outputs of one operator.
std::vector<at::Tensor> run_operator(const Model& model, std::int32_t node, const std::vector<at::Tensor>& inputs);

}  // namespace orrery::profile
