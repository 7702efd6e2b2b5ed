#pragma once
// The tensors of one model, and how each operator computes.

#include <ATen/ATen.h>
#include <vector>

#include "profile/executor.h"
#include "workload/graph.h"

namespace orrery::profile {

struct Model {
  const workload::TrainingGraph& graph;
  at::TensorOptions floats;  // the device they are on
  bool is_random = true;     // see ExecutorOptions
  workload::ByOperator<std::vector<at::Tensor>> parameters;
  workload::ByOperator<std::vector<at::Tensor>> buffers;                 // running statistics, index tables
  workload::ByOperator<at::Tensor> sources;                              // data of inputs
  workload::ByOperator<at::Tensor> targets;                              // what losses compare with
  workload::ByOperator<std::vector<workload::OperatorIndex>> last_uses;  // those whose outputs it is the last to read
};

// Everything a graph needs, made from the seed. kUnsupported on operators that cannot run.
Result<Model> make_model(const workload::TrainingGraph& graph, at::TensorOptions floats, bool is_random,
                         std::uint64_t seed);

// As libtorch takes it; valid as long as the shape is.
inline at::IntArrayRef dims_of(const workload::Shape& shape) {
  return {shape.dims().data(), shape.dims().size()};
}

// The outputs of one operator.
std::vector<at::Tensor> run_operator(const Model& model, workload::OperatorIndex at,
                                     const std::vector<at::Tensor>& inputs);

}  // namespace orrery::profile
