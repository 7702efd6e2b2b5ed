#pragma once
// How much memory the tensors of one forward and backward pass need, by walking the pass and keeping the live tensors.
//
// Rules (those of an eager framework with a caching allocator)
// 1. An operator's output is allocated when it runs. Views and in-place operators share their input's memory.
// 2. Forward: memory is freed after its last use, unless backward needs it (operator traits say what is saved).
// 3. Backward runs in reverse: gradients of inputs are allocated, the gradient of the output and what this operator
//    saved are freed.
// Parameters, their gradients and optimizer states are not counted here.

#include "workload/cost.h"

namespace orrery::predict {

struct ActivationMemory {
  Bytes saved;  // alive when forward ends: what grows with the batch
  Bytes peak;   // the most alive at any time, saved included
};

// Counts the operators [first, last) as one pipeline stage would run them; inputs from before `first` count as
// received. `scale` (empty: all 1) is the share of each operator's output this device holds.
ActivationMemory activation_memory(const workload::TrainingGraph& graph, const workload::CostOptions& options,
                                   workload::OperatorIndex first, workload::OperatorIndex last,
                                   const workload::ByOperator<double>& scale = {});
ActivationMemory activation_memory(const workload::TrainingGraph& graph, const workload::CostOptions& options);

}  // namespace orrery::predict
