#pragma once
// A GRU cell with its gradient (the equations are in driple/inspector.h):
//
//   r = σ(Wir x + bir + Whr y + bhr), z likewise, n = tanh(Win x + bin + r ∘ (Whn y + bhn)), answer (1 − z) ∘ n + z ∘ y
//
// at::gru_cell is made of some forty operations forwards and backwards, each of which reads and writes whole matrices;
// this makes four passes over them beside the products.

#include <ATen/ATen.h>

namespace orrery::predict {

// x, y: rows × h. Weights 3h × h and biases 3h hold r, z and n one behind the other, as PyTorch keeps them.
at::Tensor gru_cell(const at::Tensor& x, const at::Tensor& y, const at::Tensor& input_weight,
                    const at::Tensor& state_weight, const at::Tensor& input_bias, const at::Tensor& state_bias);

}  // namespace orrery::predict
