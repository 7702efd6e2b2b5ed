#include "profile/torch/update.h"

#include <cmath>

namespace orrery::profile {

using workload::Optimizer;

namespace {

constexpr double kMomentum = 0.9;
constexpr double kBeta1 = 0.9, kBeta2 = 0.999, kAdamEpsilon = 1e-8, kDecay = 0.01;

}  // namespace

Updater::Updater(Optimizer optimizer, double learning_rate, std::size_t operators)
    : optimizer_(optimizer), learning_rate_(learning_rate), states_(operators) {}

void Updater::update(workload::OperatorIndex at, std::vector<at::Tensor>& parameters) {
  const at::NoGradGuard no_grad;
  states_[at].resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor gradient = parameters[i].grad();
    if (!gradient.defined()) continue;
    update(parameters[i], gradient, states_[at][i]);
    parameters[i].mutable_grad().reset();
  }
}

void Updater::update(at::Tensor& weight, const at::Tensor& gradient, State& state) const {
  switch (optimizer_) {
    case Optimizer::kSgd:
      weight.add_(gradient, -learning_rate_);
      return;
    case Optimizer::kMomentum:
      if (state.first.defined()) {
        state.first.mul_(kMomentum).add_(gradient);
      } else {
        state.first = gradient.clone();
      }
      weight.add_(state.first, -learning_rate_);
      return;
    case Optimizer::kAdamW:
      weight.mul_(1 - kDecay * learning_rate_);
      [[fallthrough]];
    case Optimizer::kAdam:
      adam(weight, gradient, state);
      return;
  }
}

void Updater::adam(at::Tensor& weight, const at::Tensor& gradient, State& state) const {
  if (!state.first.defined()) state = {at::zeros_like(weight), at::zeros_like(weight)};
  state.first.mul_(kBeta1).add_(gradient, 1 - kBeta1);
  state.second.mul_(kBeta2).addcmul_(gradient, gradient, 1 - kBeta2);
  const double first_bias = 1 - std::pow(kBeta1, step_), second_bias = 1 - std::pow(kBeta2, step_);
  const at::Tensor scale = state.second.sqrt().div_(std::sqrt(second_bias)).add_(kAdamEpsilon);
  weight.addcdiv_(state.first, scale, -learning_rate_ / first_bias);
}

}  // namespace orrery::profile
