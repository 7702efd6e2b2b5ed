#pragma once
// What one operator costs in one phase: arithmetic, bytes moved, device kernels, and the sizes it occupies.
//
// Counting rules
// - A multiply-accumulate is 2 FLOPs. Backward of a product is two products: one for the input's gradient (left out
//   when nothing before the operator is learned) and one for the weight's.
// - Every operator reads its inputs and writes its outputs once, twice where statistics come first (batch norm); no
//   cache is assumed. Gradients that meet at a fork are added by kernels of their own, counted with the operator
//   they arrive at.
// - Activations scale exactly with the batch; parameter bytes do not depend on it. They are kept apart.

#include "base/units.h"
#include "workload/graph.h"
#include "workload/optimizer.h"

namespace orrery::workload {

struct CostOptions {
  Optimizer optimizer = Optimizer::kMomentum;
  double activation_bytes = 4;  // per floating-point element
  double parameter_bytes = 4;
};

struct OperatorCost {
  Flops matrix_flops;     // work a matrix unit can do
  Flops vector_flops;     // everything else
  Bytes read;             // activations
  Bytes written;          // activations
  Bytes parameters;       // parameters and their gradients and states, read or written
  double kernels = 0;     // device launches
  double sequential = 1;  // of those, how many must wait for one another (time steps of a recurrence)

  Flops flops() const { return matrix_flops + vector_flops; }
  Bytes bytes() const { return read + written + parameters; }
};

OperatorCost operator_cost(const TrainingGraph& graph, PhaseStep step, const CostOptions& options);

// Multiply-accumulates of one forward pass through `op`.
double forward_macs(const TrainingGraph& graph, const Operator& op);

// Bytes backward needs of `op` beyond its inputs and output: masks, indices, reserve space of recurrences.
Bytes saved_extra(const TrainingGraph& graph, const Operator& op, const CostOptions& options);

// Size of a tensor when floating-point elements take `float_bytes`.
Bytes tensor_bytes(const TensorType& type, double float_bytes);

}  // namespace orrery::workload
