#include "predict/neural/torch/row_sums.h"

#include <algorithm>
#include <torch/csrc/autograd/custom_function.h>

namespace orrery::predict {

namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

at::Tensor multiply(const at::Tensor& first, const at::Tensor& columns, const at::Tensor& weights,
                    const at::Tensor& x) {
  const at::Tensor rows = x.contiguous();
  const at::Tensor result = at::zeros(rows.sizes(), rows.options());
  const std::int64_t width = rows.size(1);
  const float* from = rows.data_ptr<float>();
  const std::int64_t* begin = first.data_ptr<std::int64_t>();
  const std::int64_t* column = columns.data_ptr<std::int64_t>();
  const float* weight = weights.data_ptr<float>();
  float* to = result.data_ptr<float>();
  for (std::int64_t row = 0; row < rows.size(0); ++row, to += width) {
    for (std::int64_t entry = begin[row]; entry < begin[row + 1]; ++entry) {
      const float* source = from + column[entry] * width;
      for (std::int64_t i = 0; i < width; ++i) to[i] += weight[entry] * source[i];
    }
  }
  return result;
}

at::Tensor gathered(const at::Tensor& x, const at::Tensor& index) {
  const at::Tensor rows = x.contiguous();
  const std::int64_t count = index.size(0), width = rows.size(1);
  const at::Tensor result = at::empty({count, width}, rows.options());
  const float* from = rows.data_ptr<float>();
  const std::int64_t* place = index.data_ptr<std::int64_t>();
  float* to = result.data_ptr<float>();
  for (std::int64_t i = 0; i < count; ++i, to += width) std::copy_n(from + place[i] * width, width, to);
  return result;
}

at::Tensor summed(const at::Tensor& x, const at::Tensor& index, std::int64_t rows) {
  const at::Tensor parts = x.contiguous();
  const std::int64_t width = parts.size(1);
  const at::Tensor result = at::zeros({rows, width}, parts.options());
  const float* from = parts.data_ptr<float>();
  const std::int64_t* place = index.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < parts.size(0); ++i, from += width) {
    float* to = result.data_ptr<float>() + place[i] * width;
    for (std::int64_t j = 0; j < width; ++j) to[j] += from[j];
  }
  return result;
}

struct Product : Function<Product> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& first,
                            const at::Tensor& columns, const at::Tensor& weights) {
    context->save_for_backward({first, columns, weights});
    return multiply(first, columns, weights, x);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list kept = context->get_saved_variables();
    return {multiply(kept[0], kept[1], kept[2], gradients[0]), {}, {}, {}};
  }
};

struct RowsAt : Function<RowsAt> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& index) {
    context->save_for_backward({index});
    context->saved_data["rows"] = x.size(0);
    return gathered(x, index);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {summed(gradients[0], context->get_saved_variables()[0], context->saved_data["rows"].toInt()), {}};
  }
};

struct RowsSummed : Function<RowsSummed> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& index, std::int64_t rows) {
    context->save_for_backward({index});
    return summed(x, index, rows);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    return {gathered(gradients[0], context->get_saved_variables()[0]), {}, {}};
  }
};

}  // namespace

at::Tensor product(const SparseRows& matrix, const at::Tensor& x) {
  return Product::apply(x, matrix.first, matrix.columns, matrix.weights);
}

at::Tensor rows_at(const at::Tensor& x, const at::Tensor& index) {
  return RowsAt::apply(x, index);
}

at::Tensor rows_summed(const at::Tensor& x, const at::Tensor& index, std::int64_t rows) {
  return RowsSummed::apply(x, index, rows);
}

}  // namespace orrery::predict
