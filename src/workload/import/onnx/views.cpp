#include <algorithm>
#include <fmt/format.h>

#include "workload/import/batch_axis.h"
#include "workload/import/onnx/translator.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

OnnxValue OnnxTranslator::place_batch(const OnnxValue& x, const Dims& target) const {
  const BatchPlace place = batch_after_reshape(dims_of(x), {x.batch_axis, x.inner}, target, batch_);
  return {x.value, place.axis, place.inner};
}

Result<OnnxValue> OnnxTranslator::reshaped(const OnnxValue& x, const Dims& target) {
  OnnxValue result = place_batch(x, target);
  return reshaped_as(x, target, result);
}

Result<OnnxValue> OnnxTranslator::reshaped_as(const OnnxValue& x, const Dims& target, OnnxValue result) {
  if (dims_of(x) == target) return x;
  ReshapeAttributes attributes{target};
  if (result.batch_axis >= 0) attributes.dims[static_cast<std::size_t>(result.batch_axis)] = -1;
  ORRERY_TRY(const Value source, viewable(x, target));
  ORRERY_TRY(result.value, emit(kReshape, "reshape", {source}, std::move(attributes)));
  return result;
}

Result<Value> OnnxTranslator::viewable(const OnnxValue& x, const Dims& target) {
  const Operator& op = operators_[x.value.op];
  if (op.kind != kTranspose || is_view_of_transpose(op, target)) return x.value;
  return emit(kContiguous, "contiguous", {x.value}, {});
}

bool OnnxTranslator::is_view_of_transpose(const Operator& op, const Dims& target) const {
  const auto& order = std::get<TransposeAttributes>(op.attributes).order;
  const Shape& from = type_of(op.inputs[0]).shape;
  // Runs of dimensions that are neighbours in memory, as (size) in the order of the transposed tensor.
  Dims runs;
  int previous = -2;
  for (const int axis : order) {
    if (from[axis] == 1) continue;
    int next = previous + 1;
    while (next >= 0 && next < axis && from[next] == 1) ++next;
    if (previous >= 0 && next == axis) {
      runs.back() *= from[axis];
    } else {
      runs.push_back(from[axis]);
    }
    previous = axis;
  }
  std::size_t at = 0;
  std::int64_t left = 1;
  for (const std::int64_t dim : target) {
    if (dim == 1) continue;
    if (left == 1 && at < runs.size()) left = runs[at++];
    if (dim > left || left % dim != 0) return false;
    left /= dim;
  }
  return true;
}

Result<OnnxValue> OnnxTranslator::transposed(const OnnxValue& x, const std::vector<int>& order) {
  bool is_same = true;
  for (std::size_t i = 0; i < order.size(); ++i) is_same = is_same && order[i] == static_cast<int>(i);
  if (is_same) return x;
  OnnxValue result = x;
  const auto at = std::find(order.begin(), order.end(), x.batch_axis);
  if (x.batch_axis >= 0) result.batch_axis = static_cast<int>(at - order.begin());
  ORRERY_TRY(result.value, emit(kTranspose, "transpose", {x.value}, TransposeAttributes{order}));
  return result;
}

Result<OnnxValue> OnnxTranslator::sliced(const OnnxValue& x, int axis, std::int64_t begin, std::int64_t end,
                                         std::int64_t step) {
  if (begin == 0 && end == shape_of(x)[axis] && step == 1) return x;
  OnnxValue result = x;
  if (axis == x.batch_axis) result.batch_axis = -1;
  ORRERY_TRY(result.value, emit(kSlice, "slice", {x.value}, SliceAttributes{axis, begin, end, step}));
  return result;
}

Result<OnnxValue> OnnxTranslator::without_axis(const OnnxValue& x, int axis) {
  Dims dims = dims_of(x);
  dims.erase(dims.begin() + axis);
  OnnxValue result{x.value, x.batch_axis > axis ? x.batch_axis - 1 : x.batch_axis == axis ? -1 : x.batch_axis, x.inner};
  return reshaped_as(x, dims, result);
}

Result<OnnxValue> OnnxTranslator::padded(const OnnxValue& x, const Dims& before, const Dims& after) {
  const auto is_zero = [](std::int64_t n) { return n == 0; };
  if (std::all_of(before.begin(), before.end(), is_zero) && std::all_of(after.begin(), after.end(), is_zero)) {
    return x;
  }
  OnnxValue result = x;
  ORRERY_TRY(result.value, emit(kPad, "pad", {x.value}, PadAttributes{before, after}));
  return result;
}

Result<OnnxValue> OnnxTranslator::indexed(const OnnxValue& x, Dims dims) {
  OnnxValue result{x.value};
  const auto axis = static_cast<std::size_t>(x.batch_axis);
  if (x.batch_axis >= 0 && axis < dims.size() && dims[axis] == shape_of(x)[x.batch_axis]) {
    dims[axis] = 0;
    result = x;
  }
  ORRERY_TRY(result.value, emit(kIndex, "index", {x.value}, IndexAttributes{std::move(dims)}));
  return result;
}

}  // namespace orrery::workload::import
