#include "workload/import/onnx/translate.h"

#include <fmt/format.h>

#include "workload/import/onnx/translator.h"
#include "workload/import/prune.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

std::int64_t product_of(std::span<const std::int64_t> dims) {
  std::int64_t total = 1;
  for (const std::int64_t dim : dims) total *= dim;
  return total;
}

Result<TrainingGraph> OnnxTranslator::run() {
  operators_.reserve(model_.nodes.size() + model_.inputs.size() + model_.outputs.size());
  for (const auto& [id, constant] : model_.initializers) bind_constant(id, constant);
  if (model_.inputs.empty()) return Error::invalid("the graph has no input");
  if (model_.outputs.empty()) return Error::invalid("the graph has no output");
  for (std::size_t i = 0; i < model_.inputs.size(); ++i) ORRERY_TRY_VOID(add_input(model_.inputs[i], i == 0));
  for (std::size_t i = 0; i < model_.nodes.size(); ++i) {
    Status status = translate_node(static_cast<std::int32_t>(i));
    if (!status) return std::move(status).error().with_context(describe(model_, i));
  }
  ORRERY_TRY_VOID(add_losses());
  drop_unused_views(operators_);
  return TrainingGraph::make(name_, std::move(operators_));
}

Status OnnxTranslator::add_input(TensorId id, bool is_first) {
  const std::string& name = model_.name(id);
  const auto type = model_.types.find(id);
  if (type == model_.types.end() || !type->second.dims) {
    return Error::invalid(fmt::format("input \"{}\" has no shape", name));
  }
  const auto dtype = element_type(type->second.element);
  if (!dtype) {
    return Error::unsupported(fmt::format("input \"{}\" has elem_type {}", name, type->second.element));
  }
  Dims dims;
  for (std::size_t i = 0; i < type->second.dims->size(); ++i) {
    const OnnxDimension& dim = (*type->second.dims)[i];
    const bool open = !dim.known || dim.size <= 0;
    if (open && i > 0 && (dim.symbol.empty() || dim.symbol != batch_symbol_)) {
      return Error::unsupported(
          fmt::format("input \"{}\": dimension {} is open{}; only the batch (dimension 0) may be, so export it with "
                      "the size you want predicted",
                      name, i, dim.symbol.empty() ? "" : fmt::format(" (\"{}\")", dim.symbol)));
    }
    if (i == 0 && is_first && !open) batch_ = dim.size;
    if (i == 0 && is_first) batch_symbol_ = dim.symbol;
    dims.push_back(open ? batch_ : dim.size);
  }
  auto shape = Shape::make(dims);
  if (!shape) return std::move(shape).error().with_context(fmt::format("input \"{}\"", name));
  ORRERY_TRY(const Value value, emit(kInput, name, {}, SourceAttributes{{*shape, *dtype}}));
  const OnnxValue bound{value, dims.empty() || dims[0] != batch_ ? -1 : 0, 1};
  if (!sample_.value.op.valid() && bound.batch_axis == 0) sample_ = bound;
  bind(id, bound);
  return {};
}

Status OnnxTranslator::add_losses() {
  const TensorState& first = state(model_.outputs[0]);
  if (first.kind != TensorState::Kind::kValue) {
    return Error::unsupported(
        fmt::format("output \"{}\" does not depend on the input", model_.name(model_.outputs[0])));
  }
  const Shape shape = shape_of(bounds_[static_cast<std::size_t>(first.index)]);
  for (const TensorId id : model_.outputs) {
    const TensorState& output = state(id);
    if (output.kind != TensorState::Kind::kValue) continue;
    const OnnxValue& bound = bounds_[static_cast<std::size_t>(output.index)];
    if (!(shape_of(bound) == shape)) continue;
    ORRERY_TRY_VOID(emit(kCrossEntropy, "cross_entropy", {bound.value}, {}));
  }
  return {};
}

Result<Value> OnnxTranslator::emit(OperatorKind kind, std::string name, std::vector<Value> inputs,
                                   Attributes attributes, OperatorIndex tied_to, bool in_place) {
  Operator op;
  op.name = std::move(name);
  op.kind = kind;
  op.attributes = std::move(attributes);
  op.inputs = std::move(inputs);
  op.in_place = in_place;
  op.tied_to = tied_to;
  return appender_.append(operators_, std::move(op));
}

const TensorType& OnnxTranslator::type_of(Value v) const {
  return output_type(operators_, v);
}

Dims OnnxTranslator::dims_of(const OnnxValue& b) const {
  const auto dims = shape_of(b).dims();
  return {dims.begin(), dims.end()};
}

std::string OnnxTranslator::name_of(const OnnxNode& node) const {
  for (const TensorId id : node.inputs) {
    if (id == kNoTensor || !model_.initializers.contains(id)) continue;
    const std::string& weight = model_.name(id);
    const std::size_t dot = weight.rfind('.');
    if (dot != std::string::npos && dot > 0) return weight.substr(0, dot);
  }
  const std::size_t start = node.name.find_first_not_of('/');
  return start == std::string::npos ? std::string() : node.name.substr(start);
}

void OnnxTranslator::bind(TensorId id, const OnnxValue& bound) {
  if (id == kNoTensor) return;
  bounds_.push_back(bound);
  states_[static_cast<std::size_t>(id)] = {TensorState::Kind::kValue, static_cast<std::int32_t>(bounds_.size() - 1)};
}

void OnnxTranslator::bind_constant(TensorId id, Constant constant) {
  if (id == kNoTensor) return;
  constants_.push_back(std::move(constant));
  states_[static_cast<std::size_t>(id)] = {TensorState::Kind::kConstant,
                                           static_cast<std::int32_t>(constants_.size() - 1)};
}

void OnnxTranslator::give(const OnnxNode& node, const OnnxValue& bound) {
  if (!node.outputs.empty()) bind(node.outputs[0], bound);
}

TensorId OnnxTranslator::input_id(const OnnxNode& node, std::size_t index) {
  return index < node.inputs.size() ? node.inputs[index] : kNoTensor;
}

const Constant* OnnxTranslator::constant_of(TensorId id) const {
  if (id == kNoTensor || state(id).kind != TensorState::Kind::kConstant) return nullptr;
  return &constants_[static_cast<std::size_t>(state(id).index)];
}

const Constant* OnnxTranslator::constant_at(const OnnxNode& node, std::size_t index) const {
  return constant_of(input_id(node, index));
}

std::vector<const Constant*> OnnxTranslator::constants_at(const OnnxNode& node) const {
  std::vector<const Constant*> constants;
  for (const TensorId id : node.inputs) constants.push_back(constant_of(id));
  return constants;
}

Result<OnnxValue> OnnxTranslator::value_of(TensorId id) {
  if (id == kNoTensor) return Error::invalid("an input is missing");
  const TensorState& s = state(id);
  if (s.kind == TensorState::Kind::kValue) return bounds_[static_cast<std::size_t>(s.index)];
  if (s.kind == TensorState::Kind::kConstant) return materialize(id);
  return Error::unsupported(
      fmt::format("input \"{}\" is a result we cannot compute or that does not exist in training", model_.name(id)));
}

Result<OnnxValue> OnnxTranslator::value_at(const OnnxNode& node, std::size_t index) {
  if (input_id(node, index) == kNoTensor) return Error::invalid(fmt::format("input {} is missing", index));
  return value_of(node.inputs[index]);
}

Result<const Constant*> OnnxTranslator::weight_at(const OnnxNode& node, std::size_t index, std::string_view what) {
  const Constant* c = constant_at(node, index);
  if (c == nullptr) return Error::unsupported(fmt::format("its {} is not an initializer", what));
  return c;
}

Result<TrainingGraph> translate(const OnnxModel& sorted_model, const std::string& name, std::int64_t open_batch) {
  return OnnxTranslator(sorted_model, name, open_batch).run();
}

bool has_open_batch(const OnnxModel& model) {
  for (const TensorId id : model.inputs) {
    const auto type = model.types.find(id);
    if (type == model.types.end() || !type->second.dims || type->second.dims->empty()) continue;
    const OnnxDimension& batch = type->second.dims->front();
    return !batch.known || batch.size <= 0;
  }
  return false;
}

}  // namespace orrery::workload::import
