#include <algorithm>
#include <fmt/format.h>

#include "workload/import/onnx/translator.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

Result<OnnxValue> OnnxTranslator::parameter_of(TensorId initializer) {
  if (const auto found = parameters_.find(initializer); found != parameters_.end()) return found->second;
  auto shape = Shape::make(model_.initializers.at(initializer).dims);
  if (!shape) return std::move(shape).error().with_context(fmt::format("\"{}\"", model_.name(initializer)));
  ORRERY_TRY(const Value value,
             emit(kParameter, model_.name(initializer), {}, SourceAttributes{{*shape, DataType::kFloat32}}));
  return parameters_.emplace(initializer, OnnxValue{value}).first->second;
}

Result<OnnxValue> OnnxTranslator::materialize(TensorId id) {
  if (const auto found = materialized_.find(id); found != materialized_.end()) return found->second;
  const Constant constant = *constant_of(id);
  auto bound = constant.learned ? learned_operand(id, constant) : fixed_operand(id, constant);
  if (!bound) return std::move(bound).error().with_context(fmt::format("constant \"{}\"", model_.name(id)));
  materialized_.emplace(id, *bound);
  return bound;
}

Result<OnnxValue> OnnxTranslator::learned_operand(TensorId id, const Constant& constant) {
  ORRERY_TRY(const Shape shape, Shape::make(constant.dims));
  if (constant.source < 0) {
    ORRERY_TRY(const Value value, emit(kParameter, model_.name(id), {}, SourceAttributes{{shape, DataType::kFloat32}}));
    return OnnxValue{value};
  }
  ORRERY_TRY(const OnnxValue base, parameter_of(constant.source));
  const std::int64_t elements = shape_of(base).elements();
  if (elements == shape.elements()) return reshaped(base, constant.dims);
  if (is_repeated_per_sample(constant.dims, elements)) {
    Dims single = constant.dims;
    single[0] = 1;
    ORRERY_TRY(const OnnxValue row, reshaped(base, single));
    return expanded(row);
  }
  ORRERY_TRY(const Value value, emit(kIndex, "index", {base.value}, IndexAttributes{constant.dims}));
  return OnnxValue{value};
}

bool OnnxTranslator::is_repeated_per_sample(const Dims& dims, std::int64_t elements) const {
  return batch_ > 1 && !dims.empty() && dims[0] == batch_ && product_of(dims) / batch_ == elements &&
         sample_.value.op.valid();
}

Result<OnnxValue> OnnxTranslator::expanded(const OnnxValue& row) {
  ORRERY_TRY(const Value value, emit(kExpand, "expand", {row.value, sample_.value}, {}));
  return OnnxValue{value, 0, 1};
}

Result<OnnxValue> OnnxTranslator::fixed_operand(TensorId id, const Constant& constant) {
  OtherAttributes attributes{"Constant", {constant.dims}, {}, constant.dtype};
  std::vector<Value> inputs;
  OnnxValue bound;
  if (batch_ > 1 && !constant.dims.empty() && constant.dims[0] == batch_ && sample_.value.op.valid()) {
    attributes.outputs[0][0] = 0;
    inputs.push_back(sample_.value);
    bound.batch_axis = 0;
  }
  ORRERY_TRY(bound.value, emit(kOther, model_.name(id), std::move(inputs), std::move(attributes)));
  return bound;
}

Result<OnnxValue> OnnxTranslator::other(const OnnxNode& node, const std::vector<OnnxValue>& inputs, Dims dims,
                                        DataType dtype, std::vector<Dims> parameters) {
  // The first input lends its batch: one of the same rank, if there is one.
  std::vector<OnnxValue> ordered = inputs;
  const auto lends = [&](const OnnxValue& b) {
    const auto axis = static_cast<std::size_t>(b.batch_axis);
    return b.batch_axis >= 0 && axis < dims.size() && dims[axis] == shape_of(b)[b.batch_axis];
  };
  const auto lender = std::find_if(ordered.begin(), ordered.end(), lends);
  OnnxValue result;
  if (lender != ordered.end()) {
    result = *lender;
    std::iter_swap(ordered.begin(), lender);
    dims[static_cast<std::size_t>(result.batch_axis)] = 0;
  }
  std::vector<Value> values;
  for (const OnnxValue& b : ordered) values.push_back(b.value);
  OtherAttributes attributes{node.type, {std::move(dims)}, std::move(parameters), dtype};
  ORRERY_TRY(result.value, emit(kOther, name_of(node), std::move(values), std::move(attributes)));
  return result;
}

std::vector<OnnxValue> OnnxTranslator::values_of(const OnnxNode& node) const {
  std::vector<OnnxValue> values;
  for (const TensorId id : node.inputs) {
    if (id != kNoTensor && state(id).kind == TensorState::Kind::kValue) {
      values.push_back(bounds_[static_cast<std::size_t>(state(id).index)]);
    }
  }
  return values;
}

std::vector<Dims> OnnxTranslator::parameters_of(const OnnxNode& node) {
  std::vector<Dims> parameters;
  for (const TensorId id : node.inputs) {
    const Constant* c = constant_of(id);
    if (c == nullptr || !c->learned || c->elements() == 0) continue;
    if (c->source >= 0 && !owners_.emplace(c->source, OperatorIndex(operators_.size())).second) continue;
    parameters.push_back(c->dims);
  }
  return parameters;
}

Status OnnxTranslator::translate_other(const OnnxNode& node) {
  std::vector<OnnxValue> values = values_of(node);
  if (values.empty()) {
    return Error::unsupported("there is no rule for this operator, and nothing of the data reaches it");
  }
  std::vector<Dims> parameters = parameters_of(node);
  for (const TensorId id : node.outputs) {
    if (id == kNoTensor || (uses_.users(id).empty() && !uses_.is_output(id))) continue;
    auto stated = stated_type(id);
    if (!stated) {
      return std::move(stated).error().with_context(
          fmt::format("there is no rule for {}, and of its output \"{}\"", node.type, model_.name(id)));
    }
    ORRERY_TRY(const OnnxValue result, other(node, values, stated->first, stated->second, std::move(parameters)));
    parameters.clear();
    bind(id, result);
  }
  return {};
}

Result<std::pair<Dims, DataType>> OnnxTranslator::stated_type(TensorId id) const {
  const auto found = model_.types.find(id);
  if (found == model_.types.end() || !found->second.dims) return Error::unsupported("the file does not say the shape");
  Dims dims;
  for (const OnnxDimension& dim : *found->second.dims) {
    const bool is_batch = !dim.known && !dim.symbol.empty() && dim.symbol == batch_symbol_;
    if ((!dim.known || dim.size < 1) && !is_batch) return Error::unsupported("the file does not say every dimension");
    dims.push_back(is_batch ? batch_ : dim.size);
  }
  return std::pair(std::move(dims), element_type(found->second.element).value_or(DataType::kFloat32));
}

}  // namespace orrery::workload::import
