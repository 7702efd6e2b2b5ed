#include "workload/import/onnx_translate.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>

#include "workload/import/batch_axis.h"
#include "workload/import/fold.h"
#include "workload/import/onnx_fusion.h"
#include "workload/import/prune.h"
#include "workload/traits.h"

namespace orrery::workload::import {

namespace {

using Dims = std::vector<std::int64_t>;
using enum OperatorKind;

// A value of the graph we make, and where its batch is.
struct Bound {
  Value value;
  int batch_axis = -1;     // -1: it has none
  std::int64_t inner = 1;  // elements of that axis per sample
};

// What is known about a tensor of the file.
struct State {
  enum class Kind { kUnset, kConstant, kValue } kind = Kind::kUnset;
  std::int32_t index = -1;  // into constants_ or bounds_
};

// A window with its padding before and after, of height and width.
struct Window {
  Window2d shape;
  std::int64_t before[2] = {0, 0}, after[2] = {0, 0};  // what does not fit into a symmetric padding
  std::int64_t output_padding[2] = {0, 0};
};

std::int64_t product_of(std::span<const std::int64_t> dims) {
  std::int64_t total = 1;
  for (const std::int64_t dim : dims) total *= dim;
  return total;
}

class Translator {
 public:
  Translator(const OnnxModel& model, std::string name, std::int64_t open_batch)
      : model_(model),
        name_(std::move(name)),
        batch_(open_batch),
        uses_(model),
        fusions_(find_fusions(model, uses_)),
        states_(model.names.size()) {}

  Result<TrainingGraph> run() {
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

 private:
  using Rule = Status (Translator::*)(const OnnxNode&);

  // --- sources and losses

  Status add_input(TensorId id, bool is_first) {
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
    const Bound bound{value, dims.empty() || dims[0] != batch_ ? -1 : 0, 1};
    if (sample_.value.node < 0 && bound.batch_axis == 0) sample_ = bound;
    bind(id, bound);
    return {};
  }

  // One loss on the first output, and on each other of the same shape: the heads that help to train deep models.
  Status add_losses() {
    const State& first = state(model_.outputs[0]);
    if (first.kind != State::Kind::kValue) {
      return Error::unsupported(
          fmt::format("output \"{}\" does not depend on the input", model_.name(model_.outputs[0])));
    }
    const Shape shape = shape_of(bounds_[static_cast<std::size_t>(first.index)]);
    for (const TensorId id : model_.outputs) {
      const State& output = state(id);
      if (output.kind != State::Kind::kValue) continue;
      const Bound& bound = bounds_[static_cast<std::size_t>(output.index)];
      if (!(shape_of(bound) == shape)) continue;
      ORRERY_TRY_VOID(emit(kCrossEntropy, "cross_entropy", {bound.value}, {}));
    }
    return {};
  }

  // --- making operators

  Result<Value> emit(OperatorKind kind, std::string name, std::vector<Value> inputs, Attributes attributes,
                     std::int32_t tied_to = -1, bool in_place = false) {
    Operator op;
    op.name = unique(name.empty() ? std::string(to_string(kind)) : std::move(name));
    op.kind = kind;
    op.attributes = std::move(attributes);
    op.inputs = std::move(inputs);
    op.in_place = in_place;
    op.tied_to = tied_to;
    input_types_.clear();
    for (const Value& input : op.inputs) input_types_.push_back(type_of(input));
    ORRERY_TRY_VOID(infer(op, input_types_));
    operators_.push_back(std::move(op));
    return Value{static_cast<std::int32_t>(operators_.size() - 1), 0};
  }

  std::string unique(std::string name) {
    int& uses = used_names_[name];
    if (uses++ == 0) return name;
    while (true) {
      std::string numbered = fmt::format("{}_{}", name, used_names_[name]++);
      if (used_names_.try_emplace(numbered, 1).second) return numbered;
    }
  }

  const TensorType& type_of(Value v) const {
    return operators_[static_cast<std::size_t>(v.node)].outputs[static_cast<std::size_t>(v.output)];
  }
  const Shape& shape_of(const Bound& b) const { return type_of(b.value).shape; }
  Dims dims_of(const Bound& b) const {
    const auto dims = shape_of(b).dims();
    return {dims.begin(), dims.end()};
  }

  // As the file calls it: by its weight ("layer1.0.conv1"), or by its own name.
  std::string name_of(const OnnxNode& node) const {
    for (const TensorId id : node.inputs) {
      if (id == kNoTensor || !model_.initializers.contains(id)) continue;
      const std::string& weight = model_.name(id);
      const std::size_t dot = weight.rfind('.');
      if (dot != std::string::npos && dot > 0) return weight.substr(0, dot);
    }
    const std::size_t start = node.name.find_first_not_of('/');
    return start == std::string::npos ? std::string() : node.name.substr(start);
  }

  // --- tensors of the file

  const State& state(TensorId id) const { return states_[static_cast<std::size_t>(id)]; }

  void bind(TensorId id, const Bound& bound) {
    if (id == kNoTensor) return;
    bounds_.push_back(bound);
    states_[static_cast<std::size_t>(id)] = {State::Kind::kValue, static_cast<std::int32_t>(bounds_.size() - 1)};
  }

  void bind_constant(TensorId id, Constant constant) {
    if (id == kNoTensor) return;
    constants_.push_back(std::move(constant));
    states_[static_cast<std::size_t>(id)] = {State::Kind::kConstant, static_cast<std::int32_t>(constants_.size() - 1)};
  }

  // Binds the first output.
  void give(const OnnxNode& node, const Bound& bound) {
    if (!node.outputs.empty()) bind(node.outputs[0], bound);
  }

  static TensorId input_id(const OnnxNode& node, std::size_t index) {
    return index < node.inputs.size() ? node.inputs[index] : kNoTensor;
  }

  const Constant* constant_of(TensorId id) const {
    if (id == kNoTensor || state(id).kind != State::Kind::kConstant) return nullptr;
    return &constants_[static_cast<std::size_t>(state(id).index)];
  }
  const Constant* constant_at(const OnnxNode& node, std::size_t index) const {
    return constant_of(input_id(node, index));
  }

  std::vector<const Constant*> constants_at(const OnnxNode& node) const {
    std::vector<const Constant*> constants;
    for (const TensorId id : node.inputs) constants.push_back(constant_of(id));
    return constants;
  }

  Result<Bound> value_of(TensorId id) {
    if (id == kNoTensor) return Error::invalid("an input is missing");
    const State& s = state(id);
    if (s.kind == State::Kind::kValue) return bounds_[static_cast<std::size_t>(s.index)];
    if (s.kind == State::Kind::kConstant) return materialize(id);
    return Error::unsupported(
        fmt::format("input \"{}\" is a result we cannot compute or that does not exist in training", model_.name(id)));
  }
  Result<Bound> value_at(const OnnxNode& node, std::size_t index) {
    if (input_id(node, index) == kNoTensor) return Error::invalid(fmt::format("input {} is missing", index));
    return value_of(node.inputs[index]);
  }

  Result<const Constant*> weight_at(const OnnxNode& node, std::size_t index, std::string_view what) {
    const Constant* c = constant_at(node, index);
    if (c == nullptr) return Error::unsupported(fmt::format("its {} is not an initializer", what));
    return c;
  }

  // --- constants that are operands

  // The learned tensor itself, one operator however often it is used.
  Result<Bound> parameter_of(TensorId initializer) {
    if (const auto found = parameters_.find(initializer); found != parameters_.end()) return found->second;
    auto shape = Shape::make(model_.initializers.at(initializer).dims);
    if (!shape) return std::move(shape).error().with_context(fmt::format("\"{}\"", model_.name(initializer)));
    ORRERY_TRY(const Value value,
               emit(kParameter, model_.name(initializer), {}, SourceAttributes{{*shape, DataType::kFloat32}}));
    return parameters_.emplace(initializer, Bound{value}).first->second;
  }

  Result<Bound> materialize(TensorId id) {
    if (const auto found = materialized_.find(id); found != materialized_.end()) return found->second;
    const Constant constant = *constant_of(id);
    auto bound = constant.learned ? learned_operand(id, constant) : fixed_operand(id, constant);
    if (!bound) return std::move(bound).error().with_context(fmt::format("constant \"{}\"", model_.name(id)));
    materialized_.emplace(id, *bound);
    return bound;
  }

  Result<Bound> learned_operand(TensorId id, const Constant& constant) {
    ORRERY_TRY(const Shape shape, Shape::make(constant.dims));
    if (constant.source < 0) {
      ORRERY_TRY(const Value value,
                 emit(kParameter, model_.name(id), {}, SourceAttributes{{shape, DataType::kFloat32}}));
      return Bound{value};
    }
    ORRERY_TRY(const Bound base, parameter_of(constant.source));
    const std::int64_t elements = shape_of(base).elements();
    if (elements == shape.elements()) return reshaped(base, constant.dims);
    if (is_repeated_per_sample(constant.dims, elements)) {
      Dims single = constant.dims;
      single[0] = 1;
      ORRERY_TRY(const Bound row, reshaped(base, single));
      return expanded(row);
    }
    ORRERY_TRY(const Value value, emit(kIndex, "index", {base.value}, IndexAttributes{constant.dims}));
    return Bound{value};
  }

  bool is_repeated_per_sample(const Dims& dims, std::int64_t elements) const {
    return batch_ > 1 && !dims.empty() && dims[0] == batch_ && product_of(dims) / batch_ == elements &&
           sample_.value.node >= 0;
  }

  Result<Bound> expanded(const Bound& row) {
    ORRERY_TRY(const Value value, emit(kExpand, "expand", {row.value, sample_.value}, {}));
    return Bound{value, 0, 1};
  }

  // Something that is neither learned nor data: masks, zeros.
  Result<Bound> fixed_operand(TensorId id, const Constant& constant) {
    OtherAttributes attributes{"Constant", {constant.dims}, {}, constant.dtype};
    std::vector<Value> inputs;
    Bound bound;
    if (batch_ > 1 && !constant.dims.empty() && constant.dims[0] == batch_ && sample_.value.node >= 0) {
      attributes.outputs[0][0] = 0;
      inputs.push_back(sample_.value);
      bound.batch_axis = 0;
    }
    ORRERY_TRY(bound.value, emit(kOther, model_.name(id), std::move(inputs), std::move(attributes)));
    return bound;
  }

  // --- layout

  // Which dimension of `target` has the batch of `x` after a reshape; -1 if none has it whole.
  Bound place_batch(const Bound& x, const Dims& target) const {
    const BatchPlace place = batch_after_reshape(dims_of(x), {x.batch_axis, x.inner}, target, batch_);
    return {x.value, place.axis, place.inner};
  }

  Result<Bound> reshaped(const Bound& x, const Dims& target) {
    Bound result = place_batch(x, target);
    return reshaped_as(x, target, result);
  }

  Result<Bound> reshaped_as(const Bound& x, const Dims& target, Bound result) {
    if (dims_of(x) == target) return x;
    ReshapeAttributes attributes{target};
    if (result.batch_axis >= 0) attributes.dims[static_cast<std::size_t>(result.batch_axis)] = -1;
    ORRERY_TRY(const Value source, viewable(x, target));
    ORRERY_TRY(result.value, emit(kReshape, "reshape", {source}, std::move(attributes)));
    return result;
  }

  // A reshape of a transposed tensor copies it first, unless the new dimensions only split or keep the old ones.
  Result<Value> viewable(const Bound& x, const Dims& target) {
    const Operator& op = operators_[static_cast<std::size_t>(x.value.node)];
    if (op.kind != kTranspose || is_view_of_transpose(op, target)) return x.value;
    return emit(kContiguous, "contiguous", {x.value}, {});
  }

  bool is_view_of_transpose(const Operator& op, const Dims& target) const {
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

  Result<Bound> transposed(const Bound& x, const std::vector<int>& order) {
    bool is_same = true;
    for (std::size_t i = 0; i < order.size(); ++i) is_same = is_same && order[i] == static_cast<int>(i);
    if (is_same) return x;
    Bound result = x;
    const auto at = std::find(order.begin(), order.end(), x.batch_axis);
    if (x.batch_axis >= 0) result.batch_axis = static_cast<int>(at - order.begin());
    ORRERY_TRY(result.value, emit(kTranspose, "transpose", {x.value}, TransposeAttributes{order}));
    return result;
  }

  Result<Bound> sliced(const Bound& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
    if (begin == 0 && end == shape_of(x)[axis] && step == 1) return x;
    Bound result = x;
    if (axis == x.batch_axis) result.batch_axis = -1;
    ORRERY_TRY(result.value, emit(kSlice, "slice", {x.value}, SliceAttributes{axis, begin, end, step}));
    return result;
  }

  // Without dimension `axis`, which is 1.
  Result<Bound> without_axis(const Bound& x, int axis) {
    Dims dims = dims_of(x);
    dims.erase(dims.begin() + axis);
    Bound result{x.value, x.batch_axis > axis ? x.batch_axis - 1 : x.batch_axis == axis ? -1 : x.batch_axis, x.inner};
    return reshaped_as(x, dims, result);
  }

  Result<Bound> padded(const Bound& x, const Dims& before, const Dims& after) {
    const auto is_zero = [](std::int64_t n) { return n == 0; };
    if (std::all_of(before.begin(), before.end(), is_zero) && std::all_of(after.begin(), after.end(), is_zero)) {
      return x;
    }
    Bound result = x;
    ORRERY_TRY(result.value, emit(kPad, "pad", {x.value}, PadAttributes{before, after}));
    return result;
  }

  // Picks or repeats elements: any output shape.
  Result<Bound> indexed(const Bound& x, Dims dims) {
    Bound result{x.value};
    const auto axis = static_cast<std::size_t>(x.batch_axis);
    if (x.batch_axis >= 0 && axis < dims.size() && dims[axis] == shape_of(x)[x.batch_axis]) {
      dims[axis] = 0;
      result = x;
    }
    ORRERY_TRY(result.value, emit(kIndex, "index", {x.value}, IndexAttributes{std::move(dims)}));
    return result;
  }

  // --- operators without a rule

  Result<Bound> other(const OnnxNode& node, const std::vector<Bound>& inputs, Dims dims, DataType dtype,
                      std::vector<Dims> parameters = {}) {
    // The first input lends its batch: one of the same rank, if there is one.
    std::vector<Bound> ordered = inputs;
    const auto lends = [&](const Bound& b) {
      const auto axis = static_cast<std::size_t>(b.batch_axis);
      return b.batch_axis >= 0 && axis < dims.size() && dims[axis] == shape_of(b)[b.batch_axis];
    };
    const auto lender = std::find_if(ordered.begin(), ordered.end(), lends);
    Bound result;
    if (lender != ordered.end()) {
      result = *lender;
      std::iter_swap(ordered.begin(), lender);
      dims[static_cast<std::size_t>(result.batch_axis)] = 0;
    }
    std::vector<Value> values;
    for (const Bound& b : ordered) values.push_back(b.value);
    OtherAttributes attributes{node.type, {std::move(dims)}, std::move(parameters), dtype};
    ORRERY_TRY(result.value, emit(kOther, name_of(node), std::move(values), std::move(attributes)));
    return result;
  }

  std::vector<Bound> values_of(const OnnxNode& node) const {
    std::vector<Bound> values;
    for (const TensorId id : node.inputs) {
      if (id != kNoTensor && state(id).kind == State::Kind::kValue) {
        values.push_back(bounds_[static_cast<std::size_t>(state(id).index)]);
      }
    }
    return values;
  }

  // Learned constants among the inputs: parameters of an operator that has no rule.
  std::vector<Dims> parameters_of(const OnnxNode& node) {
    std::vector<Dims> parameters;
    for (const TensorId id : node.inputs) {
      const Constant* c = constant_of(id);
      if (c == nullptr || !c->learned || c->elements() == 0) continue;
      if (c->source >= 0 && !owners_.emplace(c->source, static_cast<std::int32_t>(operators_.size())).second) continue;
      parameters.push_back(c->dims);
    }
    return parameters;
  }

  // With the shapes the file states for its outputs.
  Status translate_other(const OnnxNode& node) {
    std::vector<Bound> values = values_of(node);
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
      ORRERY_TRY(const Bound result, other(node, values, stated->first, stated->second, std::move(parameters)));
      parameters.clear();
      bind(id, result);
    }
    return {};
  }

  Result<std::pair<Dims, DataType>> stated_type(TensorId id) const {
    const auto found = model_.types.find(id);
    if (found == model_.types.end() || !found->second.dims)
      return Error::unsupported("the file does not say the shape");
    Dims dims;
    for (const OnnxDimension& dim : *found->second.dims) {
      const bool is_batch = !dim.known && !dim.symbol.empty() && dim.symbol == batch_symbol_;
      if ((!dim.known || dim.size < 1) && !is_batch) return Error::unsupported("the file does not say every dimension");
      dims.push_back(is_batch ? batch_ : dim.size);
    }
    return std::pair(std::move(dims), element_type(found->second.element).value_or(DataType::kFloat32));
  }

  // --- dispatch

  Status translate_node(std::int32_t index) {
    if (fusions_.inside[static_cast<std::size_t>(index)]) return {};
    const OnnxNode& node = model_.nodes[static_cast<std::size_t>(index)];
    if (const auto fused = fusions_.at.find(index); fused != fusions_.at.end()) {
      return translate_fused(node, fused->second);
    }
    if (is_bound_already(node)) return {};
    if (!node.domain.empty()) return translate_other(node);
    if (node.type == "Shape" || node.type == "Size") return fold_shape(node);
    ORRERY_TRY(const bool folded, fold_constant(node));
    if (folded) return {};
    const auto& rules = all_rules();
    const auto rule = rules.find(node.type);
    if (rule != rules.end()) return (this->*rule->second)(node);
    return translate_other(node);
  }

  // The bias of a product, taken along by it.
  bool is_bound_already(const OnnxNode& node) const {
    return node.outputs.size() == 1 && node.outputs[0] != kNoTensor &&
           state(node.outputs[0]).kind != State::Kind::kUnset;
  }

  Status fold_shape(const OnnxNode& node) {
    const TensorId id = input_id(node, 0);
    if (id == kNoTensor) return Error::invalid("input 0 is missing");
    Constant stand_in;
    if (const Constant* c = constant_of(id)) {
      stand_in.dims = c->dims;
    } else {
      ORRERY_TRY(const Bound x, value_of(id));
      stand_in.dims = dims_of(x);
    }
    const Constant* const inputs[] = {&stand_in};
    ORRERY_TRY(std::vector<Constant> results, fold(node, model_.opset, inputs, kMostNumbers));
    if (!results.empty() && !node.outputs.empty()) bind_constant(node.outputs[0], std::move(results[0]));
    return {};
  }

  Result<bool> fold_constant(const OnnxNode& node) {
    for (const TensorId id : node.inputs) {
      if (id != kNoTensor && state(id).kind != State::Kind::kConstant) return false;
    }
    if (node.inputs.empty() && node.type != "Constant") return false;
    const auto inputs = constants_at(node);
    ORRERY_TRY(std::vector<Constant> results, fold(node, model_.opset, inputs, numbers_left_));
    for (std::size_t i = 0; i < results.size() && i < node.outputs.size(); ++i) {
      const std::size_t numbers = results[i].numbers.size();
      if (numbers > numbers_left_) {
        results[i].known = false;
        results[i].numbers = {};
      } else {
        numbers_left_ -= numbers;
      }
      bind_constant(node.outputs[i], std::move(results[i]));
    }
    // Constants without a rule stay unset: an error only if somebody needs them.
    return true;
  }

  static const std::unordered_map<std::string_view, Rule>& all_rules() {
    using T = Translator;
    static const std::unordered_map<std::string_view, Rule> kRules = {
        {"Conv", &T::conv},
        {"ConvTranspose", &T::conv_transpose},
        {"Gemm", &T::gemm},
        {"MatMul", &T::matmul},
        {"BatchNormalization", &T::batch_norm},
        {"InstanceNormalization", &T::instance_norm},
        {"LayerNormalization", &T::layer_norm},
        {"Relu", &T::activation},
        {"LeakyRelu", &T::activation},
        {"HardSwish", &T::activation},
        {"HardSigmoid", &T::activation},
        {"Sigmoid", &T::activation},
        {"Tanh", &T::activation},
        {"Exp", &T::activation},
        {"Gelu", &T::activation},
        {"Neg", &T::activation},
        {"Clip", &T::clip},
        {"Softmax", &T::softmax},
        {"LogSoftmax", &T::softmax},
        {"Add", &T::arithmetic},
        {"Sub", &T::arithmetic},
        {"Mul", &T::arithmetic},
        {"Div", &T::arithmetic},
        {"Sum", &T::sum_of_many},
        {"MaxPool", &T::pool},
        {"AveragePool", &T::pool},
        {"GlobalAveragePool", &T::global_pool},
        {"GlobalMaxPool", &T::global_pool},
        {"ReduceMean", &T::reduce},
        {"ReduceSum", &T::reduce},
        {"ReduceMax", &T::reduce_other},
        {"ReduceMin", &T::reduce_other},
        {"ReduceProd", &T::reduce_other},
        {"ReduceL1", &T::reduce_other},
        {"ReduceL2", &T::reduce_other},
        {"ReduceLogSumExp", &T::reduce_other},
        {"ReduceSumSquare", &T::reduce_other},
        {"ArgMax", &T::reduce_other},
        {"ArgMin", &T::reduce_other},
        {"Reshape", &T::reshape},
        {"Flatten", &T::flatten},
        {"Squeeze", &T::squeeze},
        {"Unsqueeze", &T::squeeze},
        {"Transpose", &T::transpose},
        {"Slice", &T::slice},
        {"Split", &T::split},
        {"Gather", &T::gather},
        {"Expand", &T::expand},
        {"Tile", &T::tile},
        {"Concat", &T::concat},
        {"Pad", &T::pad},
        {"Dropout", &T::dropout},
        {"Identity", &T::identity},
        {"Cast", &T::identity},
        {"LSTM", &T::recurrent},
        {"GRU", &T::recurrent},
        {"RNN", &T::recurrent},
        {"Resize", &T::resize},
        {"Upsample", &T::resize},
        {"DepthToSpace", &T::depth_to_space},
        {"SpaceToDepth", &T::depth_to_space},
        {"PRelu", &T::same_shape},
        {"LRN", &T::same_shape},
        {"Elu", &T::same_shape},
        {"Selu", &T::same_shape},
        {"Celu", &T::same_shape},
        {"ThresholdedRelu", &T::same_shape},
        {"Softplus", &T::same_shape},
        {"Softsign", &T::same_shape},
        {"Abs", &T::same_shape},
        {"Sqrt", &T::same_shape},
        {"Reciprocal", &T::same_shape},
        {"Log", &T::same_shape},
        {"Erf", &T::same_shape},
        {"Sin", &T::same_shape},
        {"Cos", &T::same_shape},
        {"Floor", &T::same_shape},
        {"Ceil", &T::same_shape},
        {"Round", &T::same_shape},
        {"Sign", &T::same_shape},
        {"Not", &T::same_shape},
        {"IsNaN", &T::same_shape},
        {"Hardmax", &T::same_shape},
        {"LpNormalization", &T::same_shape},
        {"MeanVarianceNormalization", &T::same_shape},
        {"CumSum", &T::same_shape},
        {"Trilu", &T::same_shape},
        {"ScatterND", &T::same_shape},
        {"ScatterElements", &T::same_shape},
        {"Pow", &T::broadcast_shape},
        {"Mod", &T::broadcast_shape},
        {"Max", &T::broadcast_shape},
        {"Min", &T::broadcast_shape},
        {"Where", &T::broadcast_shape},
        {"Equal", &T::broadcast_shape},
        {"Greater", &T::broadcast_shape},
        {"Less", &T::broadcast_shape},
        {"GreaterOrEqual", &T::broadcast_shape},
        {"LessOrEqual", &T::broadcast_shape},
        {"And", &T::broadcast_shape},
        {"Or", &T::broadcast_shape},
        {"Xor", &T::broadcast_shape},
        {"If", &T::control_flow},
        {"Loop", &T::control_flow},
        {"Scan", &T::control_flow},
    };
    return kRules;
  }

  Status control_flow(const OnnxNode& node) {
    return Error::unsupported(fmt::format("control flow ({}) cannot be predicted", node.type));
  }

  Status translate_fused(const OnnxNode& node, const Fused& fused) {
    ORRERY_TRY(Bound x, value_of(fused.input));
    Attributes attributes;
    NormAttributes norm{.groups = 1,
                        .normalized_rank = fused.normalized_rank,
                        .affine = fused.weight != kNoTensor,
                        .bias = fused.bias != kNoTensor};
    std::string name = name_of(node);
    if (fused.kind == kGroupNorm) {
      ORRERY_TRY(const Bound grouped, value_of(fused.grouped));
      norm.groups = shape_of(grouped).rank() > 1 ? shape_of(grouped)[1] : 1;
    }
    if (fused.kind == kLayerNorm || fused.kind == kRmsNorm || fused.kind == kGroupNorm) attributes = norm;
    ORRERY_TRY(x.value, emit(fused.kind, std::move(name), {x.value}, std::move(attributes)));
    give(node, x);
    return {};
  }

  // --- products

  // Notes who owns a weight. An error if it is another operator's already: only linear layers can share.
  Status own(const Constant& weight, const OnnxNode& node) {
    if (weight.source < 0 || weight.elements() != model_.initializers.at(weight.source).elements()) return {};
    const auto [owner, is_new] = owners_.emplace(weight.source, static_cast<std::int32_t>(operators_.size()));
    if (is_new) return {};
    return Error::unsupported(fmt::format("its weight \"{}\" is already used by {}; {} cannot share weights",
                                          model_.name(weight.source),
                                          operators_[static_cast<std::size_t>(owner->second)].name, node.type));
  }

  // The lists of a window, for one or two spatial dimensions.
  Result<Window> window_of(const OnnxNode& node, const Dims& kernel, const Dims& input, bool is_pool) {
    constexpr std::int64_t kLargest = 1 << 14;
    const std::size_t spatial = kernel.size();
    const auto list = [&](std::string_view name, std::size_t length, std::int64_t otherwise) -> Result<Dims> {
      Dims numbers = node.integers(name);
      if (numbers.empty()) numbers.assign(length, otherwise);
      if (numbers.size() != length) {
        return Error::invalid(fmt::format("{} has {} numbers; expected {}", name, numbers.size(), length));
      }
      for (const std::int64_t number : numbers) {
        if (number < (otherwise == 0 ? 0 : 1) || number > kLargest) {
          return Error::invalid(fmt::format("{} has {}; expected at most {}", name, number, kLargest));
        }
      }
      return numbers;
    };
    ORRERY_TRY(const Dims strides, list("strides", spatial, 1));
    ORRERY_TRY(const Dims dilations, list("dilations", spatial, 1));
    ORRERY_TRY(Dims pads, list("pads", 2 * spatial, 0));
    ORRERY_TRY(const Dims extra, list("output_padding", spatial, 0));
    for (const std::int64_t size : kernel) {
      if (size < 1 || size > kLargest) {
        return Error::invalid(fmt::format("kernel_shape has {}; expected 1 to {}", size, kLargest));
      }
    }
    const std::string_view auto_pad = node.text("auto_pad", "NOTSET");
    if (auto_pad == "VALID") pads.assign(2 * spatial, 0);
    if (auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER") {
      for (std::size_t i = 0; i < spatial; ++i) {
        const std::int64_t size = input[i + 2], outputs = (size + strides[i] - 1) / strides[i];
        const std::int64_t needed = (outputs - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 - size;
        const std::int64_t total = std::clamp<std::int64_t>(needed, 0, 2 * kLargest);
        const std::int64_t less = total / 2, more = total - less;
        pads[i] = auto_pad == "SAME_UPPER" ? less : more;
        pads[i + spatial] = total - pads[i];
      }
    }
    Window w;
    std::int64_t* kernels[] = {&w.shape.kernel_h, &w.shape.kernel_w};
    std::int64_t* stride[] = {&w.shape.stride_h, &w.shape.stride_w};
    std::int64_t* padding[] = {&w.shape.padding_h, &w.shape.padding_w};
    std::int64_t* dilation[] = {&w.shape.dilation_h, &w.shape.dilation_w};
    for (std::size_t i = 0; i < spatial; ++i) {
      const std::size_t at = i + 2 - spatial;
      *kernels[at] = kernel[i];
      *stride[at] = strides[i];
      *dilation[at] = dilations[i];
      *padding[at] = std::min(pads[i], pads[i + spatial]);
      w.before[at] = pads[i] - *padding[at];
      w.after[at] = pads[i + spatial] - *padding[at];
      w.output_padding[at] = extra[i];
    }
    w.shape.ceil_mode = is_pool && node.integer("ceil_mode", 0) != 0;
    return w;
  }

  // [batch, channels, length] as an image of height 1.
  Result<Bound> as_image(const Bound& x, std::size_t spatial) {
    const Dims dims = dims_of(x);
    if (dims.size() != spatial + 2) {
      return Error::invalid(
          fmt::format("expected an input of {} dimensions, got {}", spatial + 2, shape_of(x).to_string()));
    }
    if (spatial == 2) return x;
    return reshaped_as(x, {dims[0], dims[1], 1, dims[2]}, x);
  }

  Result<Bound> from_image(const Bound& x, std::size_t spatial) {
    if (spatial == 2) return x;
    const Dims dims = dims_of(x);
    return reshaped_as(x, {dims[0], dims[1], dims[3]}, x);
  }

  Result<std::size_t> spatial_dimensions(const Dims& weight) {
    if (weight.size() == 3 || weight.size() == 4) return weight.size() - 2;
    return Error::unsupported(
        fmt::format("its weight [{}] is not of a 1-D or 2-D convolution", fmt::join(weight, ", ")));
  }

  Status conv(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    ORRERY_TRY(const Constant* weight, weight_at(node, 1, "weight"));
    const Dims w = weight->dims;
    ORRERY_TRY(const std::size_t spatial, spatial_dimensions(w));
    ORRERY_TRY_VOID(own(*weight, node));
    ORRERY_TRY(Bound image, as_image(x, spatial));
    const std::int64_t groups = node.integer("group", 1);
    const std::int64_t channels = shape_of(image)[1];
    if (groups < 1 || channels % groups != 0 || w[1] != channels / groups) {
      return Error::invalid(fmt::format("weight [{}] in {} groups does not fit the {} channels of its input",
                                        fmt::join(w, ", "), groups, channels));
    }
    ORRERY_TRY(const Window window, window_of(node, Dims(w.begin() + 2, w.end()), dims_of(x), false));
    ORRERY_TRY(image,
               padded(image, {0, 0, window.before[0], window.before[1]}, {0, 0, window.after[0], window.after[1]}));
    ORRERY_TRY(image.value, emit(kConv2d, name_of(node), {image.value},
                                 ConvAttributes{w[0], window.shape, groups, input_id(node, 2) != kNoTensor}));
    ORRERY_TRY(const Bound result, from_image(image, spatial));
    give(node, result);
    return {};
  }

  Status conv_transpose(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    ORRERY_TRY(const Constant* weight, weight_at(node, 1, "weight"));
    const Dims w = weight->dims;
    ORRERY_TRY(const std::size_t spatial, spatial_dimensions(w));
    ORRERY_TRY_VOID(own(*weight, node));
    ORRERY_TRY(Bound image, as_image(x, spatial));
    const std::int64_t groups = node.integer("group", 1);
    if (groups < 1 || groups > kMaxElements || w[1] > kMaxElements / groups || w[0] != shape_of(image)[1]) {
      return Error::invalid(fmt::format("weight [{}] in {} groups does not fit the {} channels of its input",
                                        fmt::join(w, ", "), groups, shape_of(image)[1]));
    }
    if (node.find("output_shape") != nullptr) return Error::unsupported("output_shape cannot be read; use pads");
    if (node.text("auto_pad", "NOTSET").starts_with("SAME"))
      return Error::unsupported("auto_pad cannot be read; use pads");
    ORRERY_TRY(const Window window, window_of(node, Dims(w.begin() + 2, w.end()), dims_of(x), false));
    ORRERY_TRY(image.value, emit(kConvTranspose2d, name_of(node), {image.value},
                                 ConvAttributes{w[1] * groups, window.shape, groups, input_id(node, 2) != kNoTensor}));
    ORRERY_TRY(image,
               padded(image, {0, 0, -window.before[0], -window.before[1]},
                      {0, 0, window.output_padding[0] - window.after[0], window.output_padding[1] - window.after[1]}));
    ORRERY_TRY(const Bound result, from_image(image, spatial));
    give(node, result);
    return {};
  }

  Result<Bound> linear(const OnnxNode& node, const Bound& x, const Constant& weight, std::int64_t in, std::int64_t out,
                       bool bias, std::string name) {
    if (shape_of(x).rank() < 1 || shape_of(x)[-1] != in) {
      return Error::invalid(
          fmt::format("its weight takes {} features, but its input is {}", in, shape_of(x).to_string()));
    }
    Bound result = x;
    if (x.batch_axis == shape_of(x).rank() - 1) result.batch_axis = -1;
    std::int32_t tied_to = -1;
    const bool is_whole = weight.source >= 0 && weight.elements() == model_.initializers.at(weight.source).elements();
    if (is_whole) {
      const auto [owner, is_new] = owners_.emplace(weight.source, static_cast<std::int32_t>(operators_.size()));
      if (!is_new) {
        tied_to = owner->second;
        const auto& parameters = operators_[static_cast<std::size_t>(tied_to)].parameters;
        const bool fits = !parameters.empty() && parameters[0].shape.rank() == 2 && parameters[0].shape[0] == out &&
                          parameters[0].shape[1] == in;
        if (!fits) {
          return Error::unsupported(fmt::format("its weight \"{}\" is already used, in another form, by {}",
                                                model_.name(weight.source),
                                                operators_[static_cast<std::size_t>(tied_to)].name));
        }
      }
    }
    if (name.empty()) name = name_of(node);
    ORRERY_TRY(result.value, emit(kLinear, std::move(name), {x.value}, LinearAttributes{out, bias}, tied_to));
    return result;
  }

  Result<Bound> swapped(const Bound& x) {
    if (shape_of(x).rank() != 2) return Error::invalid("expected a matrix, got " + shape_of(x).to_string());
    return transposed(x, {1, 0});
  }

  Status gemm(const OnnxNode& node) {
    ORRERY_TRY(Bound a, value_at(node, 0));
    if (node.integer("transA", 0) != 0) {
      ORRERY_TRY(a, swapped(a));
    }
    const bool transposed_b = node.integer("transB", 0) != 0;
    const Constant* weight = constant_at(node, 1);
    const Constant* bias = constant_at(node, 2);
    Bound result;
    bool biased = false;
    if (weight != nullptr && weight->dims.size() == 2) {
      const std::int64_t in = weight->dims[transposed_b ? 1 : 0], out = weight->dims[transposed_b ? 0 : 1];
      biased = bias != nullptr && bias->elements() == out;
      ORRERY_TRY(result, linear(node, a, *weight, in, out, biased, {}));
    } else {
      ORRERY_TRY(Bound b, value_at(node, 1));
      if (transposed_b) {
        ORRERY_TRY(b, swapped(b));
      }
      ORRERY_TRY(result, multiplied(node, a, b));
    }
    if (!biased && input_id(node, 2) != kNoTensor) {
      ORRERY_TRY(result, combined(node, kAdd, result, node.inputs[2]));
    }
    give(node, result);
    return {};
  }

  Result<Bound> multiplied(const OnnxNode& node, const Bound& a, const Bound& b) {
    const int rank_a = shape_of(a).rank(), rank_b = shape_of(b).rank();
    Bound result;
    const int rank = std::max(rank_a, rank_b);
    if (a.batch_axis >= 0 && a.batch_axis != rank_a - 1) {
      result = a;
      result.batch_axis += rank - rank_a;
    } else if (b.batch_axis >= 0 && b.batch_axis != rank_b - 2) {
      result = b;
      result.batch_axis += rank - rank_b;
    }
    ORRERY_TRY(result.value, emit(kMatmul, name_of(node), {a.value, b.value}, {}));
    return result;
  }

  Status matmul(const OnnxNode& node) {
    const Constant* weight = constant_at(node, 1);
    ORRERY_TRY(const Bound a, value_at(node, 0));
    if (weight == nullptr || weight->dims.size() != 2) {
      ORRERY_TRY(const Bound b, value_at(node, 1));
      ORRERY_TRY(const Bound result, multiplied(node, a, b));
      give(node, result);
      return {};
    }
    const std::int64_t in = weight->dims[0], out = weight->dims[1];
    const OnnxNode* add = node.outputs.empty() ? nullptr : bias_after(node.outputs[0], out);
    std::string name = add != nullptr ? name_of(*add) : std::string();
    if (weight->source >= 0) {
      const std::string& full = model_.name(weight->source);
      const std::size_t dot = full.rfind('.');
      if (dot != std::string::npos && dot > 0) name = full.substr(0, dot);
    }
    ORRERY_TRY(const Bound result, linear(node, a, *weight, in, out, add != nullptr, std::move(name)));
    give(add != nullptr ? *add : node, result);
    return {};
  }

  // The Add of a constant vector that alone uses a product's result: its bias.
  const OnnxNode* bias_after(TensorId product, std::int64_t out) const {
    const std::int32_t user = uses_.only_user(product);
    if (user < 0) return nullptr;
    const OnnxNode& add = model_.nodes[static_cast<std::size_t>(user)];
    if (add.type != "Add" || !add.domain.empty() || add.inputs.size() != 2 || add.outputs.size() != 1) return nullptr;
    if (fusions_.inside[static_cast<std::size_t>(user)] || fusions_.at.contains(user)) return nullptr;
    const Constant* bias = constant_of(add.inputs[add.inputs[0] == product ? 1 : 0]);
    return bias != nullptr && bias->dims == Dims{out} ? &add : nullptr;
  }

  Status recurrent(const OnnxNode& node) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    ORRERY_TRY(const Constant* weight, weight_at(node, 2, "recurrence weight"));
    const bool batch_first = node.integer("layout", 0) == 1;
    const bool both = node.text("direction", "forward") == "bidirectional";
    if (shape_of(x).rank() != 3 || weight->dims.size() != 3) {
      return Error::invalid("expected X and R of three dimensions");
    }
    const RecurrentAttributes attributes{weight->dims[2], 1, both, input_id(node, 3) != kNoTensor};
    if (!batch_first) {
      ORRERY_TRY(x, transposed(x, {1, 0, 2}));
    }
    const OperatorKind kind = node.type == "LSTM" ? kLstm : node.type == "GRU" ? kGru : kRnn;
    ORRERY_TRY(Bound y, emit_recurrent(node, kind, x, attributes));
    const int outputs = kind == kLstm ? 3 : 2;
    for (int i = 1; i < outputs && i < static_cast<int>(node.outputs.size()); ++i) {
      Bound last{{y.value.node, i}, 1, 1};
      if (x.batch_axis != 0) last.batch_axis = -1;
      if (batch_first) {
        ORRERY_TRY(last, transposed(last, {1, 0, 2}));
      }
      bind(node.outputs[static_cast<std::size_t>(i)], last);
    }
    const Dims dims = dims_of(y);
    const std::int64_t directions = both ? 2 : 1;
    ORRERY_TRY(y, reshaped_as(y, {dims[0], dims[1], directions, attributes.hidden}, y));
    ORRERY_TRY(y, transposed(y, batch_first ? std::vector<int>{0, 1, 2, 3} : std::vector<int>{1, 2, 0, 3}));
    give(node, y);
    return {};
  }

  Result<Bound> emit_recurrent(const OnnxNode& node, OperatorKind kind, const Bound& x,
                               const RecurrentAttributes& attributes) {
    Bound y = x;
    ORRERY_TRY(y.value, emit(kind, name_of(node), {x.value}, attributes));
    return y;
  }

  // --- normalisation

  Status batch_norm(const OnnxNode& node) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    const Constant* scale = constant_at(node, 1);
    if (scale != nullptr && shape_of(x).rank() > 1 && scale->elements() != shape_of(x)[1]) {
      return Error::invalid(fmt::format("scale has {} numbers, but the input {} has {} channels", scale->elements(),
                                        shape_of(x).to_string(), shape_of(x)[1]));
    }
    ORRERY_TRY(x.value, emit(kBatchNorm, name_of(node), {x.value}, NormAttributes{}));
    give(node, x);
    return {};
  }

  Status instance_norm(const OnnxNode& node) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    if (shape_of(x).rank() < 2) return Error::invalid("expected [batch, channels, …], got " + shape_of(x).to_string());
    const Constant* scale = constant_at(node, 1);
    const NormAttributes attributes{.groups = shape_of(x)[1], .affine = scale != nullptr && scale->learned};
    ORRERY_TRY(x.value, emit(kGroupNorm, name_of(node), {x.value}, attributes));
    give(node, x);
    return {};
  }

  Status layer_norm(const OnnxNode& node) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    const int rank = shape_of(x).rank();
    ORRERY_TRY(const int axis, normal_axis(node.integer("axis", -1), rank));
    const NormAttributes attributes{.normalized_rank = rank - axis,
                                    .affine = input_id(node, 1) != kNoTensor,
                                    .bias = input_id(node, 2) != kNoTensor};
    ORRERY_TRY(x.value, emit(kLayerNorm, name_of(node), {x.value}, attributes));
    give(node, x);
    return {};
  }

  // --- element by element

  // Frameworks overwrite the input of these where nothing else needs it.
  bool can_overwrite(const OnnxNode& node, const Bound& x) const {
    const Operator& producer = operators_[static_cast<std::size_t>(x.value.node)];
    const OperatorTraits& row = traits(producer.kind);
    return uses_.only_user(node.inputs[0]) >= 0 && !row.saves_output && row.op_class != OperatorClass::kSource &&
           row.op_class != OperatorClass::kView;
  }

  Status activation(const OnnxNode& node) {
    static const std::unordered_map<std::string_view, OperatorKind> kKinds = {{"Relu", kRelu},
                                                                              {"LeakyRelu", kLeakyRelu},
                                                                              {"HardSwish", kHardswish},
                                                                              {"HardSigmoid", kHardsigmoid},
                                                                              {"Sigmoid", kSigmoid},
                                                                              {"Tanh", kTanh},
                                                                              {"Exp", kExp},
                                                                              {"Gelu", kGelu},
                                                                              {"Neg", kScale}};
    return emit_activation(node, kKinds.at(node.type));
  }

  Status emit_activation(const OnnxNode& node, OperatorKind kind) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    const bool overwrites = (kind == kRelu || kind == kRelu6 || kind == kLeakyRelu) && can_overwrite(node, x);
    ORRERY_TRY(x.value, emit(kind, name_of(node), {x.value}, {}, -1, overwrites));
    give(node, x);
    return {};
  }

  Status clip(const OnnxNode& node) {
    const auto bound = [&](std::string_view attribute, std::size_t index) -> std::optional<double> {
      if (const OnnxAttribute* a = node.find(attribute)) return a->f;
      const Constant* c = constant_at(node, index);
      if (c == nullptr || !c->known || c->numbers.size() != 1) return std::nullopt;
      return c->numbers[0];
    };
    const auto least = bound("min", 1), most = bound("max", 2);
    if (least == 0.0 && most == 6.0) return emit_activation(node, kRelu6);
    if (least == 0.0 && !most) return emit_activation(node, kRelu);
    return emit_activation(node, kHardtanh);
  }

  Status softmax(const OnnxNode& node) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    ORRERY_TRY(const int axis, normal_axis(node.integer("axis", model_.opset < 13 ? 1 : -1), shape_of(x).rank()));
    ORRERY_TRY(x.value, emit(kSoftmax, name_of(node), {x.value}, AxisAttributes{axis}));
    give(node, x);
    return {};
  }

  // The batch of what two operands broadcast to.
  Bound broadcast_batch(const Bound& a, const Bound& b) const {
    const int rank_a = shape_of(a).rank(), rank_b = shape_of(b).rank();
    const bool from_a = a.batch_axis >= 0;
    Bound result = from_a ? a : b;
    if (result.batch_axis >= 0) result.batch_axis += std::max(rank_a, rank_b) - (from_a ? rank_a : rank_b);
    return result;
  }

  // x (op) the tensor `id`: with a number, a scale; with anything learned or computed, an operator of two inputs.
  Result<Bound> combined(const OnnxNode& node, OperatorKind kind, const Bound& x, TensorId id, bool swap = false) {
    const Constant* c = constant_of(id);
    if (c != nullptr) {
      const auto shape = broadcast_dims(dims_of(x), c->dims);
      const bool keeps_shape = shape && *shape == dims_of(x);
      if (keeps_shape && (!c->learned || c->elements() == 1)) {
        Bound result = x;
        ORRERY_TRY(result.value, emit(kScale, "scale", {x.value}, {}));
        return result;
      }
    }
    ORRERY_TRY(const Bound y, value_of(id));
    Bound result = broadcast_batch(x, y);
    const std::vector<Value> inputs =
        swap ? std::vector<Value>{y.value, x.value} : std::vector<Value>{x.value, y.value};
    const bool named = c == nullptr;
    ORRERY_TRY(result.value, emit(kind, named ? name_of(node) : std::string(to_string(kind)), inputs, {}));
    return result;
  }

  Status arithmetic(const OnnxNode& node) {
    if (node.inputs.size() != 2) return Error::invalid("expected two inputs");
    const OperatorKind kind = node.type == "Add"   ? kAdd
                              : node.type == "Sub" ? kSubtract
                              : node.type == "Mul" ? kMultiply
                                                   : kDivide;
    const bool swap = constant_at(node, 0) != nullptr;
    ORRERY_TRY(const Bound x, value_at(node, swap ? 1 : 0));
    ORRERY_TRY(const Bound result, combined(node, kind, x, node.inputs[swap ? 0 : 1], swap));
    give(node, result);
    return {};
  }

  Status sum_of_many(const OnnxNode& node) {
    ORRERY_TRY(Bound total, value_at(node, 0));
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      ORRERY_TRY(total, combined(node, kAdd, total, node.inputs[i]));
    }
    give(node, total);
    return {};
  }

  Status same_shape(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    std::vector<Bound> values = values_of(node);
    if (values.empty()) values.push_back(x);
    ORRERY_TRY(const Bound result, other(node, values, dims_of(x), type_of(x.value).dtype, parameters_of(node)));
    give(node, result);
    return {};
  }

  Status broadcast_shape(const OnnxNode& node) {
    Dims dims;
    for (const TensorId id : node.inputs) {
      if (id == kNoTensor) return Error::invalid("an input is missing");
      const Constant* c = constant_of(id);
      if (c != nullptr) {
        ORRERY_TRY(dims, broadcast_dims(dims, c->dims));
      } else {
        ORRERY_TRY(const Bound x, value_of(id));
        ORRERY_TRY(dims, broadcast_dims(dims, dims_of(x)));
      }
    }
    const std::vector<Bound> values = values_of(node);
    if (values.empty()) return Error::unsupported("nothing of the data reaches it");
    const bool is_test = node.type == "Equal" || node.type == "Not" || node.type.starts_with("Greater") ||
                         node.type.starts_with("Less") || node.type == "And" || node.type == "Or" || node.type == "Xor";
    const DataType dtype = is_test ? DataType::kBool : type_of(values.back().value).dtype;
    ORRERY_TRY(const Bound result, other(node, values, dims, dtype, parameters_of(node)));
    give(node, result);
    return {};
  }

  // --- pooling and reduction

  Status pool(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    const Dims kernel = node.integers("kernel_shape");
    if (kernel.size() != 1 && kernel.size() != 2) {
      return Error::unsupported(fmt::format("kernel_shape [{}] is not 1-D or 2-D", fmt::join(kernel, ", ")));
    }
    ORRERY_TRY(Bound image, as_image(x, kernel.size()));
    ORRERY_TRY(const Window window, window_of(node, kernel, dims_of(x), true));
    const bool is_max = node.type == "MaxPool";
    const Window2d& w = window.shape;
    const bool keeps_all = w.kernel_h == 1 && w.kernel_w == 1 && w.stride_h == 1 && w.stride_w == 1 &&
                           w.padding_h == 0 && w.padding_w == 0;
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
    ORRERY_TRY(const Bound result, from_image(image, kernel.size()));
    give(node, result);
    return {};
  }

  Status global_pool(const OnnxNode& node) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    const int rank = shape_of(x).rank();
    if (rank < 3) return Error::invalid("expected [batch, channels, …], got " + shape_of(x).to_string());
    if (node.type == "GlobalMaxPool") {
      Dims dims = dims_of(x);
      std::fill(dims.begin() + 2, dims.end(), 1);
      ORRERY_TRY(const Bound result, other(node, {x}, dims, type_of(x.value).dtype));
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

  // Where the batch is after these axes are gone.
  static Bound after_reduction(const Bound& x, const std::vector<int>& axes, bool keep) {
    Bound result = x;
    for (const int axis : axes) {
      if (axis == x.batch_axis) result.batch_axis = -1;
      if (!keep && axis < x.batch_axis && result.batch_axis >= 0) --result.batch_axis;
    }
    return result;
  }

  Status reduce(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    std::vector<int> axes;
    const auto inputs = constants_at(node);
    ORRERY_TRY_VOID(reduced_dims(node, inputs, dims_of(x), axes));
    if (axes.empty()) {
      give(node, x);
      return {};
    }
    const bool keep = node.integer("keepdims", 1) != 0;
    Bound result = after_reduction(x, axes, keep);
    ORRERY_TRY(result.value,
               emit(node.type == "ReduceMean" ? kMean : kSum, name_of(node), {x.value}, ReduceAttributes{axes, keep}));
    give(node, result);
    return {};
  }

  Status reduce_other(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
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
    ORRERY_TRY(const Bound bound, other(node, {x}, result, dtype));
    give(node, bound);
    return {};
  }

  // --- layout

  Status reshape(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    const Constant* target = constant_at(node, 1);
    if (target == nullptr || !target->known) return Error::unsupported("its shape is not known when reading");
    ORRERY_TRY(const Dims dims, reshape_dims(dims_of(x), target->integers(), node.integer("allowzero", 0) == 1));
    ORRERY_TRY(const Bound result, reshaped(x, dims));
    give(node, result);
    return {};
  }

  Status flatten(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    Constant stand_in;
    stand_in.dims = dims_of(x);
    const Constant* const inputs[] = {&stand_in};
    ORRERY_TRY(const std::vector<Constant> flat, fold(node, model_.opset, inputs, 0));
    ORRERY_TRY(const Bound result, reshaped(x, flat.at(0).dims));
    give(node, result);
    return {};
  }

  Status squeeze(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    const auto inputs = constants_at(node);
    if (node.inputs.size() > 1 && inputs[1] == nullptr) return Error::unsupported("axes is not known when reading");
    const Dims dims = dims_of(x);
    ORRERY_TRY(const Dims target, squeezed_dims(node, inputs, dims));
    ORRERY_TRY(const auto axes, list_of(node, "axes", inputs, 1));
    Bound result = x;
    const int rank = static_cast<int>(node.type == "Squeeze" ? dims.size() : target.size());
    std::vector<bool> listed(static_cast<std::size_t>(rank), false);
    for (std::size_t i = 0; !axes && i < dims.size(); ++i) listed[i] = dims[i] == 1;
    for (const std::int64_t axis : axes.value_or(Dims())) {
      ORRERY_TRY(const int at, normal_axis(axis, rank));
      listed[static_cast<std::size_t>(at)] = true;
    }
    if (x.batch_axis >= 0) {
      // The place of the batch among the dimensions that stay.
      int seen = -1, place = -1;
      for (int i = 0; i < rank; ++i) {
        const bool stays = !listed[static_cast<std::size_t>(i)];
        if (stays) ++seen;
        if (node.type == "Squeeze" && i == x.batch_axis) place = stays ? seen : -1;
        if (node.type == "Unsqueeze" && stays && seen == x.batch_axis) place = i;
      }
      result.batch_axis = place;
    }
    ORRERY_TRY(result, reshaped_as(x, target, result));
    give(node, result);
    return {};
  }

  Status transpose(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    ORRERY_TRY(const std::vector<int> order, transpose_order(node, static_cast<std::size_t>(shape_of(x).rank())));
    ORRERY_TRY(const Bound result, transposed(x, order));
    give(node, result);
    return {};
  }

  Status slice(const OnnxNode& node) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    const auto inputs = constants_at(node);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNoTensor && inputs[i] == nullptr) {
        return Error::unsupported("starts, ends, axes or steps are not known when reading");
      }
    }
    ORRERY_TRY(const std::vector<SliceRange> ranges, slice_ranges(node, inputs, dims_of(x)));
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      const SliceRange& r = ranges[i];
      if (r.count < 1) return Error::unsupported(fmt::format("nothing is left of dimension {}", i));
      if (r.step > 0) {
        // At the end a step may reach beyond the last element.
        const std::int64_t size = shape_of(x)[static_cast<int>(i)];
        const std::int64_t end = r.count == size ? size : std::min(size, r.begin + (r.count - 1) * r.step + 1);
        ORRERY_TRY(x, sliced(x, static_cast<int>(i), r.begin, end, std::min(r.step, size)));
      } else {
        Dims dims = dims_of(x);
        dims[i] = r.count;
        ORRERY_TRY(x, indexed(x, std::move(dims)));
      }
    }
    give(node, x);
    return {};
  }

  Status split(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    const auto inputs = constants_at(node);
    if (node.inputs.size() > 1 && node.inputs[1] != kNoTensor && inputs[1] == nullptr) {
      return Error::unsupported("the sizes of its parts are not known when reading");
    }
    ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), shape_of(x).rank()));
    ORRERY_TRY(const Dims sizes, split_sizes(node, inputs, shape_of(x)[axis]));
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] > 0) {
        ORRERY_TRY(const Bound part, sliced(x, axis, begin, begin + sizes[i], 1));
        bind(node.outputs[i], part);
      }
      begin += sizes[i];
    }
    return {};
  }

  Status gather(const OnnxNode& node) {
    const Constant* data = constant_at(node, 0);
    const Constant* indices = constant_at(node, 1);
    if (data != nullptr) return gather_rows(node, *data);
    ORRERY_TRY(const Bound x, value_at(node, 0));
    ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), shape_of(x).rank()));
    Dims dims = dims_of(x);
    const std::int64_t size = dims[static_cast<std::size_t>(axis)];
    if (indices != nullptr && indices->known && indices->dims.empty() && indices->numbers.size() == 1) {
      std::int64_t at = indices->integer(0);
      if (at < -size || at >= size) return Error::invalid(fmt::format("index {} is outside {}", at, size));
      if (at < 0) at += size;
      ORRERY_TRY(const Bound part, sliced(x, axis, at, at + 1, 1));
      ORRERY_TRY(const Bound result, without_axis(part, axis));
      give(node, result);
      return {};
    }
    Dims picked;
    if (indices != nullptr) {
      picked = indices->dims;
    } else {
      ORRERY_TRY(const Bound i, value_at(node, 1));
      picked = dims_of(i);
    }
    dims.erase(dims.begin() + axis);
    dims.insert(dims.begin() + axis, picked.begin(), picked.end());
    if (indices == nullptr) {
      ORRERY_TRY(const Bound result, other(node, values_of(node), dims, type_of(x.value).dtype));
      give(node, result);
      return {};
    }
    Bound source = x;
    if (picked.size() != 1 && x.batch_axis > axis) source.batch_axis = -1;
    ORRERY_TRY(const Bound result, indexed(source, std::move(dims)));
    give(node, result);
    return {};
  }

  // Rows of a table by indices that are data.
  Status gather_rows(const OnnxNode& node, const Constant& data) {
    ORRERY_TRY(Bound indices, value_at(node, 1));
    const bool is_table = data.learned && data.dims.size() == 2 && node.integer("axis", 0) == 0;
    const bool is_owned = data.source >= 0 && owners_.contains(data.source);
    if (is_table && !is_owned) {
      if (data.source >= 0) owners_.emplace(data.source, static_cast<std::int32_t>(operators_.size()));
      ORRERY_TRY(indices.value,
                 emit(kEmbedding, name_of(node), {indices.value}, EmbeddingAttributes{data.dims[0], data.dims[1]}));
      give(node, indices);
      return {};
    }
    ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), static_cast<int>(data.dims.size())));
    Dims dims = data.dims;
    const Dims picked = dims_of(indices);
    dims.erase(dims.begin() + axis);
    dims.insert(dims.begin() + axis, picked.begin(), picked.end());
    ORRERY_TRY(const Bound result, other(node, {indices}, dims, data.dtype, parameters_of(node)));
    give(node, result);
    return {};
  }

  Status expand(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    const Constant* target = constant_at(node, 1);
    if (target == nullptr || !target->known) return Error::unsupported("its shape is not known when reading");
    const Dims from = dims_of(x);
    ORRERY_TRY(const Dims dims, broadcast_dims(from, target->integers()));
    ORRERY_TRY_VOID(Shape::make(dims));
    if (dims == from) {
      give(node, x);
      return {};
    }
    Dims single = dims;
    if (!single.empty()) single[0] = 1;
    const bool to_batch = x.batch_axis < 0 && dims[0] == batch_ && single == from && sample_.value.node >= 0;
    ORRERY_TRY(const Bound result, to_batch ? expanded(x) : indexed(x, dims));
    give(node, result);
    return {};
  }

  Status tile(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    Constant stand_in;
    stand_in.dims = dims_of(x);
    const Constant* const inputs[] = {&stand_in, constant_at(node, 1)};
    ORRERY_TRY(const std::vector<Constant> tiled, fold(node, model_.opset, inputs, 0));
    ORRERY_TRY(const Bound result, indexed(x, tiled.at(0).dims));
    give(node, result);
    return {};
  }

  // Two slices of one value, put together the other way round.
  const Operator* rolled_source(const std::vector<Bound>& parts, int axis, Value& source) const {
    if (parts.size() != 2) return nullptr;
    const Operator& a = operators_[static_cast<std::size_t>(parts[0].value.node)];
    const Operator& b = operators_[static_cast<std::size_t>(parts[1].value.node)];
    if (a.kind != kSlice || b.kind != kSlice || a.inputs[0] != b.inputs[0]) return nullptr;
    const auto& tail = std::get<SliceAttributes>(a.attributes);
    const auto& head = std::get<SliceAttributes>(b.attributes);
    const bool fits = tail.axis == axis && head.axis == axis && tail.step == 1 && head.step == 1 && head.begin == 0 &&
                      head.end == tail.begin && tail.end == type_of(a.inputs[0]).shape[axis];
    if (!fits) return nullptr;
    source = a.inputs[0];
    return &operators_[static_cast<std::size_t>(source.node)];
  }

  Status concat(const OnnxNode& node) {
    std::vector<Bound> parts;
    for (const TensorId id : node.inputs) {
      const Constant* c = constant_of(id);
      if (c != nullptr && c->elements() == 0) continue;
      ORRERY_TRY(const Bound part, value_of(id));
      parts.push_back(part);
    }
    if (parts.empty()) return Error::invalid("it has no inputs");
    ORRERY_TRY(const int axis, normal_axis(node.integer("axis", 0), shape_of(parts[0]).rank()));
    const auto with_batch = std::find_if(parts.begin(), parts.end(), [](const Bound& b) { return b.batch_axis >= 0; });
    Bound result = with_batch == parts.end() ? parts[0] : *with_batch;
    // What has no batch of its own is repeated for every sample. In a file of batch 1 nothing shows it.
    for (Bound& part : parts) {
      const bool lacks = part.batch_axis < 0 && result.batch_axis == 0 && axis != 0 && shape_of(part).rank() > 0 &&
                         shape_of(part)[0] == 1 && sample_.value.node >= 0;
      if (lacks) {
        ORRERY_TRY(part, expanded(part));
      }
    }
    Value source;
    if (const Operator* before = rolled_source(parts, axis, source)) {
      result.value = source;
      if (before->kind != kRoll) {
        ORRERY_TRY(result.value, emit(kRoll, name_of(node), {source}, {}));
      }
      give(node, result);
      return {};
    }
    if (axis == result.batch_axis) result.batch_axis = -1;
    std::vector<Value> values;
    for (const Bound& part : parts) values.push_back(part.value);
    ORRERY_TRY(result.value, emit(kConcat, name_of(node), std::move(values), AxisAttributes{axis}));
    give(node, result);
    return {};
  }

  Status pad(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    const auto inputs = constants_at(node);
    ORRERY_TRY(const auto pads, list_of(node, "pads", inputs, 1));
    const auto rank = static_cast<std::size_t>(shape_of(x).rank());
    if (!pads || pads->size() != 2 * rank) {
      return Error::invalid(fmt::format("expected {} pads that are known when reading", 2 * rank));
    }
    for (const std::int64_t size : *pads) {
      if (size < -kMaxElements || size > kMaxElements) return Error::invalid(fmt::format("pads has {}", size));
    }
    const Dims before(pads->begin(), pads->begin() + static_cast<std::ptrdiff_t>(rank));
    const Dims after(pads->begin() + static_cast<std::ptrdiff_t>(rank), pads->end());
    ORRERY_TRY(const Bound result, padded(x, before, after));
    give(node, result);
    return {};
  }

  Status dropout(const OnnxNode& node) {
    ORRERY_TRY(Bound x, value_at(node, 0));
    double rate = node.number("ratio", 0.5);
    const Constant* ratio = constant_at(node, 1);
    if (ratio != nullptr && ratio->known && ratio->numbers.size() == 1) rate = ratio->numbers[0];
    if (rate > 0) {
      ORRERY_TRY(x.value, emit(kDropout, name_of(node), {x.value}, RateAttributes{std::min(rate, 1.0)}));
    }
    give(node, x);
    return {};
  }

  Status identity(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    give(node, x);
    return {};
  }

  Status resize(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    Dims dims = dims_of(x);
    const bool is_new = node.type == "Resize" && model_.opset >= 11;
    const Constant* scales = constant_at(node, is_new ? 2 : 1);
    const Constant* sizes = is_new ? constant_at(node, 3) : nullptr;
    std::vector<double> factors = scales != nullptr && scales->known ? scales->numbers : std::vector<double>();
    if (const OnnxAttribute* a = node.find("scales")) factors = a->floats;
    if (sizes != nullptr && sizes->known && sizes->numbers.size() == dims.size()) {
      dims = sizes->integers();
    } else if (factors.size() == dims.size()) {
      for (std::size_t i = 0; i < dims.size(); ++i) {
        const double size = std::floor(static_cast<double>(dims[i]) * factors[i]);
        if (!(size >= 1 && size <= static_cast<double>(kMaxElements))) return Error::invalid("scales are out of range");
        dims[i] = static_cast<std::int64_t>(size);
      }
    } else {
      return Error::unsupported("its scales or sizes are not known when reading");
    }
    ORRERY_TRY(const Bound result, other(node, {x}, dims, type_of(x.value).dtype));
    give(node, result);
    return {};
  }

  Status depth_to_space(const OnnxNode& node) {
    ORRERY_TRY(const Bound x, value_at(node, 0));
    Dims d = dims_of(x);
    const std::int64_t block = node.integer("blocksize", 1);
    if (d.size() != 4 || block < 1 || block > (1 << 14))
      return Error::invalid("expected four dimensions and a blocksize");
    const bool to_space = node.type == "DepthToSpace";
    const bool fits = to_space ? d[1] % (block * block) == 0 : d[2] % block == 0 && d[3] % block == 0;
    if (!fits) return Error::invalid(fmt::format("blocksize {} does not divide {}", block, shape_of(x).to_string()));
    d = to_space ? Dims{d[0], d[1] / (block * block), d[2] * block, d[3] * block}
                 : Dims{d[0], d[1] * block * block, d[2] / block, d[3] / block};
    ORRERY_TRY(const Bound result, other(node, {x}, d, type_of(x.value).dtype));
    give(node, result);
    return {};
  }

  const OnnxModel& model_;
  std::string name_;
  std::int64_t batch_;
  std::string batch_symbol_;
  OnnxUses uses_;
  Fusions fusions_;

  std::vector<State> states_;
  std::deque<Constant> constants_;
  std::vector<Bound> bounds_;
  std::size_t numbers_left_ = 4'000'000;  // of all folded constants

  std::vector<Operator> operators_;
  std::vector<TensorType> input_types_;  // of the operator that is made
  std::unordered_map<std::string, int> used_names_;
  Bound sample_;                                       // an input that has the batch in front
  std::unordered_map<TensorId, Bound> parameters_;     // initializers that are operands
  std::unordered_map<TensorId, Bound> materialized_;   // constants that are operands
  std::unordered_map<TensorId, std::int32_t> owners_;  // operators that have an initializer as their weight
};

}  // namespace

Result<TrainingGraph> translate(const OnnxModel& sorted_model, const std::string& name, std::int64_t open_batch) {
  return Translator(sorted_model, name, open_batch).run();
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
