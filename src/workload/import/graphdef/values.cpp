// Inputs, outputs and layout of the translator; see translator.h.

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "workload/import/graphdef/translator.h"

namespace orrery::workload::import {

using enum OperatorKind;

namespace {

std::int64_t key_of(const GraphDefEdge& edge) {
  return static_cast<std::int64_t>(edge.node) << 32 | static_cast<std::uint32_t>(edge.output);
}

const std::vector<int> kToImage = {0, 3, 1, 2}, kFromImage = {0, 2, 3, 1};

}  // namespace

// --- inputs and outputs of the current node

std::size_t GraphDefTranslator::input_count() const {
  return index_.inputs(current_).size();
}

const GraphDefTranslator::Slot* GraphDefTranslator::slot_at(std::size_t input) const {
  const auto inputs = index_.inputs(current_);
  if (input >= inputs.size() || inputs[input].node < 0 || inputs[input].output < 0) return nullptr;
  const auto& slots = slots_[static_cast<std::size_t>(inputs[input].node)];
  const auto output = static_cast<std::size_t>(inputs[input].output);
  return output < slots.size() ? &slots[output] : nullptr;
}

const Constant* GraphDefTranslator::constant_at(std::size_t input) const {
  const Slot* slot = slot_at(input);
  return slot == nullptr ? nullptr : std::get_if<Constant>(slot);
}

std::vector<const Constant*> GraphDefTranslator::constants() const {
  std::vector<const Constant*> found;
  for (std::size_t i = 0; i < input_count(); ++i) found.push_back(constant_at(i));
  return found;
}

Result<Dims> GraphDefTranslator::integers_at(std::size_t input, std::string_view what) const {
  const Constant* constant = constant_at(input);
  if (constant == nullptr || !constant->known) {
    return Error::unsupported(fmt::format("{} (input {}) is not known when reading", what, input));
  }
  return constant->integers();
}

Result<Bound> GraphDefTranslator::value_at(std::size_t input) {
  ORRERY_TRY(const Bound x, any_value_at(input));
  return plain(x);
}

Result<Bound> GraphDefTranslator::any_value_at(std::size_t input) {
  const auto inputs = index_.inputs(current_);
  if (input >= inputs.size()) return Error::invalid(fmt::format("input {} is missing", input));
  const GraphDefEdge edge = inputs[input];
  const GraphDefNode& from = index_.node(edge.node);
  if (is_graphdef_input(from.op)) return emit_input(from, edge.output);
  const Slot* slot = slot_at(input);
  if (slot != nullptr) {
    if (const auto* bound = std::get_if<Bound>(slot)) return *bound;
    if (const auto* constant = std::get_if<Constant>(slot)) return value_of(*constant, edge);
  }
  return Error::unsupported(fmt::format("input {}, output {}, is a result we cannot compute or that does not exist",
                                        quote(from.name), edge.output));
}

std::vector<Bound> GraphDefTranslator::values() {
  std::vector<Bound> found;
  for (std::size_t i = 0; i < input_count(); ++i) {
    const Constant* constant = constant_at(i);
    if (constant != nullptr && !constant->learned) continue;
    auto value = value_at(i);
    if (value) found.push_back(*value);
  }
  return found;
}

bool GraphDefTranslator::is_only_use(std::size_t input) const {
  return uses_[static_cast<std::size_t>(index_.inputs(current_)[input].node)] == 1;
}

void GraphDefTranslator::set(Slot slot, std::size_t output) {
  auto& slots = slots_[static_cast<std::size_t>(current_)];
  if (slots.size() <= output) slots.resize(output + 1);
  slots[output] = std::move(slot);
}

void GraphDefTranslator::give(const Bound& bound, std::size_t output) {
  set(bound, output);
}

void GraphDefTranslator::give(Constant constant, std::size_t output) {
  set(std::move(constant), output);
}

void GraphDefTranslator::give_loss() {
  constexpr std::size_t kOutputs = 2;
  for (std::size_t i = 0; i < kOutputs; ++i) set(Loss{}, i);
}

// --- sources

Result<Bound> GraphDefTranslator::emit_input(const GraphDefNode& node, int output) {
  const std::int64_t key = key_of({index_.find(node.name), output});
  if (const auto found = inputs_.find(key); found != inputs_.end()) return found->second;
  const auto at = static_cast<std::size_t>(output);
  GraphDefShape shape;
  for (const std::string_view name : {"shape", "output_shapes", "shapes"}) {
    const GraphDefAttribute* stated = node.find(name);
    if (stated != nullptr && at < stated->shapes.size()) shape = stated->shapes[at];
  }
  if (at < node.output_shapes.size() && node.output_shapes[at]) shape = node.output_shapes[at];
  if (!shape) return Error::unsupported(fmt::format("input {} has no shape", quote(node.name)));
  const bool is_open = !shape->empty() && (*shape)[0] < 0;
  Dims dims = *shape;
  if (is_open) dims[0] = batch_;
  if (const auto open = std::find_if(dims.begin(), dims.end(), [](std::int64_t n) { return n < 0; });
      open != dims.end()) {
    return Error::unsupported(
        fmt::format("input {}: dimension {} is open; only the batch (dimension 0) may be, so write the graph with "
                    "the size you want predicted",
                    quote(node.name), open - dims.begin()));
  }
  auto sound = Shape::make(dims);
  if (!sound) return std::move(sound).error().with_context("input " + quote(node.name));
  if (!dims.empty() && !has_batch_) batch_ = dims[0];
  int type = node.type("dtype");
  for (const std::string_view name : {"output_types", "component_types"}) {
    const GraphDefAttribute* types = node.find(name);
    if (types != nullptr && at < types->types.size()) type = types->types[at];
  }
  const DataType dtype = element_type_of(type).value_or(DataType::kFloat32);
  Bound bound;
  has_batch_ = has_batch_ || !dims.empty();
  has_open_batch_ = has_open_batch_ || is_open;
  ORRERY_TRY(bound.value, emit(kInput, node.name, {}, SourceAttributes{{*sound, dtype}}));
  if (!dims.empty() && dims[0] == batch_) bound.batch.axis = 0;
  if (!sample_.value.op.valid()) sample_ = bound;
  inputs_.emplace(key, bound);
  return bound;
}

Result<Bound> GraphDefTranslator::value_of(const Constant& constant, const GraphDefEdge& from) {
  if (constant.learned) return parameter(constant);
  const std::int64_t key = key_of(from);
  if (const auto found = fixed_.find(key); found != fixed_.end()) return found->second;
  ORRERY_TRY(const Bound bound, fixed(constant, index_.node(from.node).name));
  fixed_.emplace(key, bound);
  return bound;
}

// The learned tensor itself, one operator however often it is used.
Result<Bound> GraphDefTranslator::parameter(const Constant& weight) {
  if (const auto found = parameters_.find(weight.source); found != parameters_.end()) return found->second;
  const std::string& name = index_.node(weight.source).name;
  if (owners_.contains(weight.source)) {
    return Error::unsupported(quote(name) + " is already the weight of another operator");
  }
  ORRERY_TRY(const Shape shape, Shape::make(weight.dims));
  Bound bound;
  ORRERY_TRY(bound.value, emit(kParameter, name, {}, SourceAttributes{{shape, DataType::kFloat32}}));
  parameters_.emplace(weight.source, bound);
  return bound;
}

// Something that is neither learned nor data: masks, zeros.
Result<Bound> GraphDefTranslator::fixed(const Constant& constant, const std::string& name) {
  if (constant.elements() == 0) return Error::unsupported(fmt::format("constant {} is empty", quote(name)));
  OtherAttributes attributes{"Const", {constant.dims}, {}, constant.dtype};
  std::vector<Value> inputs;
  Bound bound;
  const bool per_sample = batch_ > 1 && !constant.dims.empty() && constant.dims[0] == batch_;
  if (per_sample && sample_.value.op.valid() && sample_.batch.axis == 0) {
    attributes.outputs[0][0] = 0;
    inputs.push_back(sample_.value);
    bound.batch.axis = 0;
  }
  ORRERY_TRY(bound.value, emit(kOther, name, std::move(inputs), std::move(attributes)));
  return bound;
}

// --- making operators

Result<Value> GraphDefTranslator::emit(OperatorKind kind, const std::string& name, std::vector<Value> inputs,
                                       Attributes attributes, OperatorIndex tied_to, bool in_place) {
  constexpr std::size_t kMostOperators = 2'000'000;
  if (operators_.size() == kMostOperators) return Error::unsupported("the graph becomes too many operators");
  Operator op;
  op.name = name;
  op.kind = kind;
  op.attributes = std::move(attributes);
  op.inputs = std::move(inputs);
  op.in_place = in_place;
  op.tied_to = tied_to;
  return appender_.append(operators_, std::move(op));
}

const TensorType& GraphDefTranslator::type_of(Value v) const {
  return output_type(operators_, v);
}

Dims GraphDefTranslator::dims_of(const Bound& x) const {
  const auto dims = shape_of(x).dims();
  return {dims.begin(), dims.end()};
}

Dims GraphDefTranslator::file_dims(const Bound& x) const {
  const Dims dims = dims_of(x);
  return x.channels_first ? Dims{dims[0], dims[2], dims[3], dims[1]} : dims;
}

// Records the owner of a weight. An error if it is another operator's already: only linear layers can share.
Status GraphDefTranslator::own(const Constant& weight) {
  const OperatorIndex next(operators_.size());
  const auto [owner, is_new] = owners_.emplace(weight.source, next);
  if (is_new && !parameters_.contains(weight.source)) return {};
  return Error::unsupported(fmt::format("its weight {} is already used; only linear layers can share weights",
                                        quote(index_.node(weight.source).name)));
}

// --- layout

Result<Bound> GraphDefTranslator::plain(const Bound& x) {
  if (!x.channels_first) return x;
  const Operator& made = producer(x);
  const auto* order = std::get_if<TransposeAttributes>(&made.attributes);
  if (order != nullptr && order->order == kToImage) return Bound{made.inputs[0], x.batch, false};
  Bound result = x;
  result.channels_first = false;
  return transposed(result, kFromImage);
}

Result<Bound> GraphDefTranslator::image(const Bound& x) {
  if (x.channels_first) return x;
  ORRERY_TRY(Bound result, transposed(x, kToImage));
  result.channels_first = true;
  return result;
}

Result<Bound> GraphDefTranslator::transposed(const Bound& x, const std::vector<int>& order) {
  bool is_same = static_cast<int>(order.size()) == shape_of(x).rank();
  for (std::size_t i = 0; i < order.size(); ++i) is_same = is_same && order[i] == static_cast<int>(i);
  if (is_same) return x;
  Bound result = x;
  const auto at = std::find(order.begin(), order.end(), x.batch.axis);
  if (x.batch.axis >= 0) result.batch.axis = static_cast<int>(at - order.begin());
  ORRERY_TRY(result.value, emit(kTranspose, "transpose", {x.value}, TransposeAttributes{order}));
  return result;
}

Result<Bound> GraphDefTranslator::reshaped(const Bound& x, const Dims& dims) {
  ORRERY_TRY_VOID(Shape::make(dims));
  return reshaped_as(x, dims, batch_after_reshape(dims_of(x), x.batch, dims, batch_));
}

Result<Bound> GraphDefTranslator::reshaped_as(const Bound& x, const Dims& dims, BatchPlace place) {
  if (dims_of(x) == dims) return x;
  ReshapeAttributes attributes{dims};
  if (place.axis >= 0) attributes.dims[static_cast<std::size_t>(place.axis)] = -1;
  Bound result{x.value, place, false};
  ORRERY_TRY(result.value, emit(kReshape, "reshape", {x.value}, std::move(attributes)));
  return result;
}

Result<Bound> GraphDefTranslator::sliced(const Bound& x, int axis, std::int64_t begin, std::int64_t end,
                                         std::int64_t step) {
  if (begin == 0 && end == shape_of(x)[axis] && step == 1) return x;
  Bound result = x;
  if (axis == x.batch.axis) result.batch.axis = -1;
  ORRERY_TRY(result.value, emit(kSlice, "slice", {x.value}, SliceAttributes{axis, begin, end, step}));
  return result;
}

// Picks or repeats elements: any output shape.
Result<Bound> GraphDefTranslator::indexed(const Bound& x, Dims dims) {
  Bound result{x.value, {}, false};
  const auto axis = static_cast<std::size_t>(x.batch.axis);
  if (x.batch.axis >= 0 && axis < dims.size() && dims[axis] == shape_of(x)[x.batch.axis]) {
    dims[axis] = 0;
    result = x;
  }
  ORRERY_TRY(result.value, emit(kIndex, "index", {x.value}, IndexAttributes{std::move(dims)}));
  return result;
}

Result<Bound> GraphDefTranslator::padded(const Bound& x, const Dims& before, const Dims& after) {
  const auto is_zero = [](std::int64_t n) { return n == 0; };
  if (std::all_of(before.begin(), before.end(), is_zero) && std::all_of(after.begin(), after.end(), is_zero)) return x;
  Bound result = x;
  ORRERY_TRY(result.value, emit(kPad, "pad", {x.value}, PadAttributes{before, after}));
  return result;
}

// An operator without rules; inputs and dimensions are in the order of the file. The first input lends its batch.
Result<std::vector<Bound>> GraphDefTranslator::as_other(std::vector<Bound> inputs, std::vector<Dims> outputs,
                                                        DataType dtype) {
  const GraphDefNode& node = index_.node(current_);
  for (const Dims& dims : outputs) ORRERY_TRY_VOID(Shape::make(dims));
  const auto fits = [&](const Bound& b, const Dims& dims) {
    const auto axis = static_cast<std::size_t>(b.batch.axis);
    return b.batch.axis >= 0 && axis < dims.size() && dims[axis] == shape_of(b)[b.batch.axis];
  };
  const auto lender =
      std::find_if(inputs.begin(), inputs.end(), [&](const Bound& b) { return fits(b, outputs.at(0)); });
  if (lender != inputs.end()) std::iter_swap(inputs.begin(), lender);
  std::vector<Bound> results(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (inputs.empty() || !fits(inputs[0], outputs[i])) continue;
    results[i] = inputs[0];
    outputs[i][static_cast<std::size_t>(inputs[0].batch.axis)] = 0;
  }
  std::vector<Value> values;
  for (const Bound& b : inputs) values.push_back(b.value);
  ORRERY_TRY(const Value made,
             emit(kOther, node.name, std::move(values), OtherAttributes{node.op, std::move(outputs), {}, dtype}));
  for (std::size_t i = 0; i < results.size(); ++i) results[i].value = {made.op, static_cast<std::int32_t>(i)};
  return results;
}

Status GraphDefTranslator::give_other(std::vector<Bound> inputs, Dims dims, DataType dtype) {
  ORRERY_TRY(const std::vector<Bound> results, as_other(std::move(inputs), {std::move(dims)}, dtype));
  give(results[0]);
  return {};
}

}  // namespace orrery::workload::import
