#include "predict/neural/torch/gru_cell.h"

#include <torch/csrc/autograd/custom_function.h>

namespace orrery::predict {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// A matrix of floats, row by row.
struct Rows {
  explicit Rows(const at::Tensor& tensor) : data(tensor.data_ptr<float>()), width(tensor.size(1)) {}
  float* row(std::int64_t i) const { return data + i * width; }

  float* data;
  std::int64_t width;
};

struct GruCell : Function<GruCell> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& given_x, const at::Tensor& given_y,
                            const at::Tensor& input_weight, const at::Tensor& state_weight,
                            const at::Tensor& input_bias, const at::Tensor& state_bias) {
    const at::Tensor x = given_x.contiguous(), y = given_y.contiguous();
    const std::int64_t rows = x.size(0), h = x.size(1);
    const at::Tensor from_input = at::addmm(input_bias, x, input_weight.t());
    const at::Tensor from_state = at::addmm(state_bias, y, state_weight.t());
    at::Tensor gates = at::empty({rows, 2 * h}, x.options()), fresh = at::empty({rows, h}, x.options());
    const Rows input(from_input), state(from_state), rz(gates), n(fresh);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = 0; i < 2 * h; ++i) rz.row(row)[i] = input.row(row)[i] + state.row(row)[i];
    }
    gates.sigmoid_();
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* of_input = input.row(row) + 2 * h;
      const float* of_state = state.row(row) + 2 * h;
      for (std::int64_t i = 0; i < h; ++i) n.row(row)[i] = of_input[i] + rz.row(row)[i] * of_state[i];
    }
    fresh.tanh_();
    const at::Tensor result = at::empty({rows, h}, x.options());
    const Rows answer(result), old(y);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float* z = rz.row(row) + h;
      for (std::int64_t i = 0; i < h; ++i) {
        answer.row(row)[i] = n.row(row)[i] + z[i] * (old.row(row)[i] - n.row(row)[i]);
      }
    }
    context->save_for_backward({x, y, input_weight, state_weight, gates, fresh, from_state});
    return result;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list kept = context->get_saved_variables();
    const at::Tensor &x = kept[0], &y = kept[1];
    const std::int64_t rows = x.size(0), h = x.size(1);
    const at::Tensor gradient = gradients[0].contiguous();
    const at::Tensor to_input = at::empty({rows, 3 * h}, x.options()), to_state = at::empty({rows, 3 * h}, x.options());
    const at::Tensor to_y = at::empty({rows, h}, x.options());
    const Rows given(gradient), old(y), rz(kept[4]), fresh(kept[5]), state(kept[6]);
    const Rows input_out(to_input), state_out(to_state), y_out(to_y);
    for (std::int64_t row = 0; row < rows; ++row) {
      const float *g = given.row(row), *v = old.row(row), *n = fresh.row(row);
      const float *r = rz.row(row), *z = r + h, *s = state.row(row) + 2 * h;
      float *a = input_out.row(row), *b = state_out.row(row), *c = y_out.row(row);
      for (std::int64_t i = 0; i < h; ++i) {
        const float dn = g[i] * (1 - z[i]) * (1 - n[i] * n[i]);
        const float dz = g[i] * (v[i] - n[i]) * z[i] * (1 - z[i]);
        const float dr = dn * s[i] * r[i] * (1 - r[i]);
        a[i] = b[i] = dr;
        a[h + i] = b[h + i] = dz;
        a[2 * h + i] = dn;
        b[2 * h + i] = dn * r[i];
        c[i] = g[i] * z[i];
      }
    }
    return {at::mm(to_input, kept[2]), at::addmm(to_y, to_state, kept[3]),
            at::mm(to_input.t(), x),   at::mm(to_state.t(), y),
            to_input.sum(0),           to_state.sum(0)};
  }
};

}  // namespace

at::Tensor gru_cell(const at::Tensor& x, const at::Tensor& y, const at::Tensor& input_weight,
                    const at::Tensor& state_weight, const at::Tensor& input_bias, const at::Tensor& state_bias) {
  return GruCell::apply(x, y, input_weight, state_weight, input_bias, state_bias);
}

}  // namespace orrery::predict
