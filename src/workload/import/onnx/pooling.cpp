#include <algorithm>
#include <fmt/format.h>

#include "workload/import/onnx/translator.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

Status OnnxTranslator::pool(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  const Dims kernel = node.integers("kernel_shape");
  if (kernel.size() != 1 && kernel.size() != 2) {
    return Error::unsupported(fmt::format("kernel_shape [{}] is not 1-D or 2-D", fmt::join(kernel, ", ")));
  }
  ORRERY_TRY(OnnxValue image, as_image(x, kernel.size()));
  ORRERY_TRY(const PaddedWindow window, window_of(node, kernel, dims_of(x), true));
  const bool is_max = node.type == "MaxPool";
  const Window2d& w = window.shape;
  const bool keeps_all =
      w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 && w.padding_h == 0 && w.padding_w == 0;
  if (!is_max && keeps_all) {
    // How an adaptive pool to the size it has already is exported.
    const AdaptivePoolAttributes attributes{shape_of(image)[2], shape_of(image)[3]};
    ORRERY_TRY(image.value, emit(kAdaptiveAvgPool2d, name_of(node), {image.value}, attributes));
  } else {
    ORRERY_TRY(image,
               padded(image, {0, 0, window.before[0], window.before[1]}, {0, 0, window.after[0], window.after[1]}));
    ORRERY_TRY(image.value,
               emit(is_max ? kMaxPool2d : kAvgPool2d, name_of(node), {image.value}, PoolAttributes{window.shape}));
  }
  ORRERY_TRY(const OnnxValue result, from_image(image, kernel.size()));
  give(node, result);
  return {};
}

Status OnnxTranslator::global_pool(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
  const int rank = shape_of(x).rank();
  if (rank < 3) return Error::invalid("expected [batch, channels, …], got " + shape_of(x).to_string());
  if (node.type == "GlobalMaxPool") {
    Dims dims = dims_of(x);
    std::fill(dims.begin() + 2, dims.end(), 1);
    ORRERY_TRY(const OnnxValue result, other(node, {x}, dims, type_of(x.value).dtype));
    give(node, result);
    return {};
  }
  if (rank == 4) {
    ORRERY_TRY(x.value, emit(kAdaptiveAvgPool2d, name_of(node), {x.value}, AdaptivePoolAttributes{1, 1}));
  } else {
    std::vector<int> axes;
    for (int i = 2; i < rank; ++i) axes.push_back(i);
    ORRERY_TRY(x.value, emit(kMean, name_of(node), {x.value}, ReduceAttributes{std::move(axes), true}));
  }
  give(node, x);
  return {};
}

OnnxValue OnnxTranslator::after_reduction(const OnnxValue& x, const std::vector<int>& axes, bool keep) {
  OnnxValue result = x;
  for (const int axis : axes) {
    if (axis == x.batch_axis) result.batch_axis = -1;
    if (!keep && axis < x.batch_axis && result.batch_axis >= 0) --result.batch_axis;
  }
  return result;
}

Status OnnxTranslator::reduce(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  std::vector<int> axes;
  const auto inputs = constants_at(node);
  ORRERY_TRY_VOID(reduced_dims(node, inputs, dims_of(x), axes));
  if (axes.empty()) {
    give(node, x);
    return {};
  }
  const bool keep = node.integer("keepdims", 1) != 0;
  OnnxValue result = after_reduction(x, axes, keep);
  ORRERY_TRY(result.value,
             emit(node.type == "ReduceMean" ? kMean : kSum, name_of(node), {x.value}, ReduceAttributes{axes, keep}));
  give(node, result);
  return {};
}

Status OnnxTranslator::reduce_other(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  const Dims dims = dims_of(x);
  Dims result;
  DataType dtype = type_of(x.value).dtype;
  if (node.type.starts_with("Arg")) {
    ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), static_cast<int>(dims.size())));
    result = dims;
    result[static_cast<std::size_t>(axis)] = 1;
    if (node.integer("keepdims", 1) == 0) result.erase(result.begin() + axis);
    dtype = DataType::kInt64;
  } else {
    std::vector<int> axes;
    const auto inputs = constants_at(node);
    ORRERY_TRY(result, reduced_dims(node, inputs, dims, axes));
  }
  ORRERY_TRY(const OnnxValue bound, other(node, {x}, result, dtype));
  give(node, bound);
  return {};
}

}  // namespace orrery::workload::import
