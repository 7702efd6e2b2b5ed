#pragma once
// The work of a launched operator, from its parameters: what the profiler's own estimates leave out or get wrong.
//
//   convolution   2 N K P Q (C / groups) R S operations forward, twice that backward; input, output and weight once
//   each linear        2 rows in out matmul        2 batch m k n others        the elements of the largest tensor, read
//   and written, or the profiler's bytes of elementwise ones
// A batch norm's forward pass carries no shape: its elements are the profiler's bytes / 16. A row without parameters
// gets its elements from its grid.

#include "predict/ets/launch_trace.h"

namespace orrery::predict {

// What an operator does, as far as its cost goes. The names of frameworks are many, these are few.
enum class WorkClass { kConvolution, kLinear, kMatmul, kBatchNorm, kLayerNorm, kPool, kSoftmax, kCopy, kElementwise };

WorkClass work_class_of(std::string_view kind_name);

struct OperatorWork {
  WorkClass work_class = WorkClass::kElementwise;
  double flops = 0;
  double bytes = 0;            // moved at least
  double elements = 0;         // of its largest tensor
  double parameter_bytes = 0;  // of its weights, whose gradients are added to the old ones behind its backward pass
};

OperatorWork work_of(const LaunchedOperator& op, WorkClass work_class);

}  // namespace orrery::predict
