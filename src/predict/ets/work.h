#pragma once
// The work of a launched operator, from its parameters: what the profiler's own estimates leave out or get wrong.
//
//   convolution   2 N K P Q (C / groups) R S operations forward, twice that backward; input, output, weight once each
//   linear        2 rows in out
//   matmul        2 batch m k n
//   others        the elements of the largest tensor, read and written, or the profiler's bytes of elementwise ones
//
// A batch norm's forward pass has no shape: its elements are the profiler's bytes / 16. A row without parameters
// gets its elements from its grid.

#include <array>
#include <optional>

#include "predict/ets/launch_trace.h"

namespace orrery::predict {

// What an operator does, as far as its cost is concerned. Frameworks have many names for these few kinds.
enum class WorkClass { kConvolution, kLinear, kMatmul, kBatchNorm, kLayerNorm, kPool, kSoftmax, kCopy, kElementwise };

WorkClass work_class_of(std::string_view kind_name);

// A product of matrices: rows × columns over a depth, `count` of them.
struct Product {
  double rows = 0, columns = 0, depth = 0, count = 0;
};

struct Convolution {
  std::array<double, 4> weight{};  // outputs, inputs of a group, height, width
  double input_channels = 0, groups = 1;
  double input_side = 0, output_side = 0, stride = 0;
  double outputs = 0;  // elements
};

struct LaunchWork {
  WorkClass work_class = WorkClass::kElementwise;
  double flops = 0;
  double bytes = 0;            // moved at least
  double elements = 0;         // of its largest tensor
  double parameter_bytes = 0;  // of its weights, whose gradients are added to the old ones behind its backward pass
  Product product{};           // zeros: it is none
  std::optional<Convolution> convolution{};
};

LaunchWork work_of(const LaunchedOperator& op, WorkClass work_class);

}  // namespace orrery::predict
