#pragma once
// Splitting every matrix product over t devices, for any graph (the scheme of Megatron-LM, found by data flow).
//
// A value is replicated or split over the devices (last or channel dimension).
// 1. A weighted product (linear, convolution, embedding, recurrence) of a replicated input is split by outputs: each
//    device does 1/t, the result is split. Its input's gradient is all-reduced in backward.
// 2. A weighted product of a split input is split by inputs: each device does 1/t, the result is all-reduced to
//    replicated.
// 3. Element-wise, pooling, layout and per-channel operators, matmul and attention pass "split" on and do 1/t.
// 4. Layer norm, and any operator with both kinds of input, first gathers its split inputs (an all-gather).
// A product whose size does not divide by t stays whole.

#include "workload/graph.h"

namespace orrery::predict {

// Of each operator, for one device.
struct TensorSplit {
  workload::ByOperator<double> work;                 // its share of the work
  workload::ByOperator<double> parameters;           // its share of the parameters
  workload::ByOperator<double> output;               // its share of the output
  workload::ByOperator<double> forward_all_reduce;   // elements all-reduced after it
  workload::ByOperator<double> forward_all_gather;   // elements gathered before it
  workload::ByOperator<double> backward_all_reduce;  // elements of input gradient all-reduced
};

TensorSplit split_tensors(const workload::TrainingGraph& graph, int degree);

}  // namespace orrery::predict
