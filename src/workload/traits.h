#pragma once
// What holds for every operator of a kind, as one row of a table: its name, what backward needs, how much work one
// element is, how many device kernels run. The conventions are those of an eager framework (PyTorch 1.13 and later).

#include <string_view>

#include "base/result.h"
#include "workload/operator.h"

namespace orrery::workload {

enum class OperatorClass {
  kSource,       // no work
  kView,         // no work, output shares the input's memory
  kMatrix,       // work counted in multiply-accumulates
  kElementwise,  // a fixed amount of work per output element
  kReduction,    // a fixed amount of work per input element
};

struct OperatorTraits {
  OperatorKind kind;
  std::string_view name;
  OperatorClass op_class;
  bool saves_inputs;  // kept in memory until backward
  bool saves_output;
  double saved_bytes_per_output;  // beyond those: masks, indices
  double forward_flops;           // per element; kMatrix: on top of the products, per output element
  double backward_flops;
  int forward_kernels;
  int backward_kernels;
  int reads = 1;  // how often it reads its tensors: 2 where statistics come first
};

const OperatorTraits& traits(OperatorKind kind);
std::string_view to_string(OperatorKind kind);
Result<OperatorKind> parse_operator_kind(std::string_view name);

}  // namespace orrery::workload
