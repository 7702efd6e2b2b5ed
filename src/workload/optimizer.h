#pragma once
// The optimizers: what each keeps and computes for every parameter that is trained.
//
// A new one needs an enumerator, a row in optimizer.cpp, and an arm of the switches in profile/torch/update.cpp (to run
// it) and predict/driple/framework_ops.cpp (what TensorFlow calls it); the compiler names those that are missing.

#include <span>
#include <string_view>

#include "base/result.h"

namespace orrery::workload {

// New ones go to the end: learned models have the number among their features.
enum class Optimizer { kSgd, kMomentum, kAdam, kAdamW };

// Of a weight and of its gradient: what is updated stays in full precision, whatever products are computed in.
inline constexpr double kMasterBytes = 4;

struct OptimizerTraits {
  Optimizer optimizer;
  std::string_view name;
  int states;              // numbers kept for each parameter
  double bytes_per_state;  // of one such number
  double flops_per_parameter;
  double kernels;  // per parameter tensor

  // Of one parameter.
  constexpr double state_bytes() const { return states * bytes_per_state; }
  // An update reads weight and gradient and writes the weight; it reads and writes every state.
  constexpr double bytes_moved() const { return 3 * kMasterBytes + 2 * state_bytes(); }
};

const OptimizerTraits& traits(Optimizer optimizer);
// All of them, in the order of their enumerators.
std::span<const OptimizerTraits> optimizers();

std::string_view to_string(Optimizer optimizer);
Result<Optimizer> parse_optimizer(std::string_view name);

}  // namespace orrery::workload
