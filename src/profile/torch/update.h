#pragma once
// The update of parameters from their gradients, as PyTorch's optimizers of the same name do it.
//
//   sgd       w ← w − η g
//   momentum  v ← 0.9 v + g;  w ← w − η v
//   adam      m ← 0.9 m + 0.1 g;  s ← 0.999 s + 0.001 g²;  w ← w − η (m / (1 − 0.9^t)) / (√(s / (1 − 0.999^t)) + 1e-8)
//   adamw     w ← (1 − 0.01 η) w, then as adam

#include <ATen/ATen.h>
#include <vector>

#include "workload/graph.h"
#include "workload/optimizer.h"

namespace orrery::profile {

class Updater {
 public:
  Updater(workload::Optimizer optimizer, double learning_rate, std::size_t operators);

  // Before the first update of a step.
  void next_step() { ++step_; }
  // Updates the parameters of one operator and drops their gradients. Parameters without a gradient stay.
  void update(workload::OperatorIndex at, std::vector<at::Tensor>& parameters);

 private:
  struct State {
    at::Tensor first, second;
  };

  void update(at::Tensor& weight, const at::Tensor& gradient, State& state) const;
  void adam(at::Tensor& weight, const at::Tensor& gradient, State& state) const;

  workload::Optimizer optimizer_;
  double learning_rate_;
  int step_ = 0;
  workload::ByOperator<std::vector<State>> states_;  // of each parameter
};

}  // namespace orrery::profile
