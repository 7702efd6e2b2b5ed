#pragma once

#include <ATen/ATen.h>
#include <vector>

namespace orrery::predict {

// Hands out parameters in the order of their shapes.
class Cursor {
 public:
  explicit Cursor(const std::vector<at::Tensor>& parameters) : parameters_(parameters) {}

  const at::Tensor& next() { return parameters_[at_++]; }
  std::vector<at::Tensor> next(std::int64_t count) {
    std::vector<at::Tensor> some;
    for (std::int64_t i = 0; i < count; ++i) some.push_back(next());
    return some;
  }
  at::Tensor linear(const at::Tensor& x) {
    const at::Tensor& weight = next();
    return at::linear(x, weight, next());
  }
  at::Tensor norm(const at::Tensor& x) {
    const at::Tensor& gain = next();
    return at::layer_norm(x, {x.size(-1)}, gain, next());
  }

 private:
  const std::vector<at::Tensor>& parameters_;
  std::size_t at_ = 0;
};

}  // namespace orrery::predict
