#include "workload/import/graphdef/translate.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "workload/import/graphdef/translator.h"
#include "workload/import/prune.h"

namespace orrery::workload {

namespace import {

using enum OperatorKind;

GraphDefTranslator::GraphDefTranslator(const GraphDefIndex& index, const GraphDefPhases& phases,
                                       std::int64_t open_batch)
    : index_(index),
      phases_(phases),
      batch_(open_batch),
      wanted_(index.size(), false),
      trained_(index.size(), false),
      uses_(index.size(), 0),
      slots_(index.size()) {
  for (const std::int32_t variable : phases.trained) trained_[static_cast<std::size_t>(variable)] = true;
}

Result<TrainingGraph> GraphDefTranslator::run(const std::string& name) {
  find_wanted();
  ORRERY_TRY_VOID(refuse_control_flow());
  ORRERY_TRY(const std::vector<std::int32_t> order, index_.sorted(wanted_));
  count_uses(order);
  for (const std::int32_t i : order) {
    Status status = translate_node(i);
    if (!status) return std::move(status).error().with_context(describe(index_.node(i)));
  }
  ORRERY_TRY_VOID(add_losses());
  drop_unused_views(operators_);
  return TrainingGraph::make(name, std::move(operators_));
}

// What the ends of the forward part need. The target of a loss is not part of a training graph.
void GraphDefTranslator::find_wanted() {
  std::vector<bool> used(index_.size(), false);
  const auto is_forward = [&](std::int32_t i) {
    return phases_.of[static_cast<std::size_t>(i)] == GraphDefPhase::kForward;
  };
  const auto count = static_cast<std::int32_t>(index_.size());
  for (std::int32_t i = 0; i < count; ++i) {
    if (!is_forward(i)) continue;
    for (const GraphDefEdge& edge : index_.inputs(i)) {
      if (edge.node >= 0 && edge.node != i) used[static_cast<std::size_t>(edge.node)] = true;
    }
  }
  std::vector<std::int32_t> open;
  for (std::int32_t i = 0; i < count; ++i) {
    if (is_forward(i) && !used[static_cast<std::size_t>(i)]) open.push_back(i);
  }
  while (!open.empty()) {
    const std::int32_t node = open.back();
    open.pop_back();
    if (node < 0 || wanted_[static_cast<std::size_t>(node)] || !is_forward(node)) continue;
    wanted_[static_cast<std::size_t>(node)] = true;
    auto inputs = index_.inputs(node);
    if (is_graphdef_loss(index_.node(node).op)) inputs = inputs.first(std::min<std::size_t>(1, inputs.size()));
    for (const GraphDefEdge& edge : inputs) open.push_back(edge.node);
  }
}

void GraphDefTranslator::count_uses(const std::vector<std::int32_t>& order) {
  for (const std::int32_t i : order) {
    for (const GraphDefEdge& edge : index_.inputs(i)) ++uses_[static_cast<std::size_t>(edge.node)];
  }
}

Status GraphDefTranslator::refuse_control_flow() const {
  constexpr std::array<std::string_view, 15> kOps = {
      "Enter",     "RefEnter",       "Exit",     "RefExit",       "Switch",
      "RefSwitch", "Merge",          "RefMerge", "NextIteration", "LoopCond",
      "While",     "StatelessWhile", "If",       "StatelessIf",   "StatefulPartitionedCall"};
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    const GraphDefNode& node = index_.graph().nodes[i];
    if (!wanted_[i] || std::find(kOps.begin(), kOps.end(), node.op) == kOps.end()) continue;
    return Error::unsupported(describe(node) + ": loops, branches and calls in the forward pass cannot be predicted");
  }
  return {};
}

Status GraphDefTranslator::translate_node(std::int32_t index) {
  current_ = index;
  const GraphDefNode& node = index_.node(index);
  ORRERY_TRY(const bool is_source, translate_source(node));
  if (is_source || absorb_loss(node)) return {};
  ORRERY_TRY(const bool folded, fold(node));
  if (folded) return {};
  const auto rule = rules().find(node.op);
  return rule == rules().end() ? other(node) : (this->*rule->second)(node);
}

const std::unordered_map<std::string_view, GraphDefTranslator::Rule>& GraphDefTranslator::rules() {
  using T = GraphDefTranslator;
  static const std::unordered_map<std::string_view, Rule> kRules = {
      {"Conv2D", &T::conv},
      {"DepthwiseConv2dNative", &T::conv},
      {"Conv2DBackpropInput", &T::conv_transpose},
      {"BiasAdd", &T::bias_add},
      {"BiasAddV1", &T::bias_add},
      {"MatMul", &T::matmul},
      {"BatchMatMul", &T::batch_matmul},
      {"BatchMatMulV2", &T::batch_matmul},
      {"Gather", &T::gather},
      {"GatherV2", &T::gather},
      {"ResourceGather", &T::gather},
      {"LSTMBlockCell", &T::lstm_cell},
      {"MaxPool", &T::max_pool},
      {"AvgPool", &T::avg_pool},
      {"Relu", &T::activation},
      {"Relu6", &T::activation},
      {"LeakyRelu", &T::activation},
      {"Sigmoid", &T::activation},
      {"Tanh", &T::activation},
      {"Exp", &T::activation},
      {"Softmax", &T::softmax},
      {"LogSoftmax", &T::softmax},
      {"Add", &T::arithmetic},
      {"AddV2", &T::arithmetic},
      {"Sub", &T::arithmetic},
      {"Mul", &T::arithmetic},
      {"RealDiv", &T::arithmetic},
      {"Div", &T::arithmetic},
      {"AddN", &T::add_n},
      {"Neg", &T::scale},
      {"FusedBatchNorm", &T::batch_norm},
      {"FusedBatchNormV2", &T::batch_norm},
      {"FusedBatchNormV3", &T::batch_norm},
      {"Mean", &T::mean},
      {"Sum", &T::sum},
      {"RandomUniform", &T::random},
      {"RandomStandardNormal", &T::random},
      {"TruncatedNormal", &T::random},
      {"SparseSoftmaxCrossEntropyWithLogits", &T::cross_entropy},
      {"SoftmaxCrossEntropyWithLogits", &T::cross_entropy},
      {"L2Loss", &T::l2_loss},
      {"Shape", &T::shape},
      {"ShapeN", &T::shape},
      {"Size", &T::shape},
      {"Rank", &T::shape},
      {"ZerosLike", &T::like},
      {"OnesLike", &T::like},
      {"Identity", &T::identity},
      {"StopGradient", &T::identity},
      {"PreventGradient", &T::identity},
      {"Snapshot", &T::identity},
      {"CheckNumerics", &T::identity},
      {"PlaceholderWithDefault", &T::identity},
      {"ReadVariableOp", &T::identity},
      {"Cast", &T::cast},
      {"Reshape", &T::reshape},
      {"Transpose", &T::transpose},
      {"Squeeze", &T::squeeze},
      {"ExpandDims", &T::expand_dims},
      {"ConcatV2", &T::concat},
      {"Concat", &T::concat},
      {"Pack", &T::pack},
      {"Unpack", &T::unpack},
      {"Split", &T::split},
      {"SplitV", &T::split},
      {"Pad", &T::pad},
      {"PadV2", &T::pad},
      {"MirrorPad", &T::pad},
      {"Slice", &T::slice},
      {"StridedSlice", &T::strided_slice},
      {"Tile", &T::tile},
      {"Elu", &T::same_shape},
      {"Selu", &T::same_shape},
      {"Softplus", &T::same_shape},
      {"Softsign", &T::same_shape},
      {"Abs", &T::same_shape},
      {"Sqrt", &T::same_shape},
      {"Rsqrt", &T::same_shape},
      {"Square", &T::same_shape},
      {"Log", &T::same_shape},
      {"Log1p", &T::same_shape},
      {"Floor", &T::same_shape},
      {"Erf", &T::same_shape},
      {"Reciprocal", &T::same_shape},
      {"LRN", &T::same_shape},
      {"LogicalNot", &T::same_shape},
      {"ReverseV2", &T::same_shape},
      {"Pow", &T::broadcast_shape},
      {"Maximum", &T::broadcast_shape},
      {"Minimum", &T::broadcast_shape},
      {"Select", &T::broadcast_shape},
      {"SelectV2", &T::broadcast_shape},
      {"SquaredDifference", &T::broadcast_shape},
      {"Greater", &T::broadcast_shape},
      {"GreaterEqual", &T::broadcast_shape},
      {"Less", &T::broadcast_shape},
      {"Equal", &T::broadcast_shape},
  };
  return kRules;
}

// True if the node is a constant, a variable or an input.
Result<bool> GraphDefTranslator::translate_source(const GraphDefNode& node) {
  if (is_graphdef_input(node.op)) {
    // A number that is fed, such as a rate, is treated as a constant; others are made when a node reads them.
    const GraphDefShape shape = variable_shape(node);
    if (node.op.starts_with("Placeholder") && shape && shape->empty()) give(Constant{});
    return true;
  }
  if (is_graphdef_variable(node.op)) {
    ORRERY_TRY_VOID(variable(node));
    return true;
  }
  if (node.op != "Const") return false;
  const GraphDefAttribute* value = node.find("value");
  if (value == nullptr || !value->tensor) return Error::invalid("a Const without a value");
  if (value->tensor->dtype == kGraphDefString) return true;
  ORRERY_TRY(Constant constant, constant_of(*value->tensor));
  // In a frozen graph the weights are constants.
  constant.learned = phases_.trained.empty() && !constant.integral() && constant.elements() > 1;
  constant.source = current_;
  give(std::move(constant));
  return true;
}

Status GraphDefTranslator::variable(const GraphDefNode& node) {
  const GraphDefShape shape = variable_shape(node);
  if (!shape) return Error::invalid("a variable without a shape");
  Constant constant;
  constant.dims = *shape;
  ORRERY_TRY(const std::int64_t elements, count_elements(constant.dims));
  if (elements > kMaxElements) return Error::invalid("a variable of more than 2^48 elements");
  constant.dtype = element_type_of(node.type("dtype")).value_or(DataType::kFloat32);
  constant.learned = !constant.integral() && (phases_.trained.empty() || trained_[static_cast<std::size_t>(current_)]);
  constant.source = current_;
  give(std::move(constant));
  return {};
}

// After a loss nothing more is computed: means, sums and weight decay are too small to count.
bool GraphDefTranslator::absorb_loss(const GraphDefNode& node) {
  if (is_graphdef_loss(node.op)) return false;
  for (std::size_t i = 0; i < input_count(); ++i) {
    const Slot* slot = slot_at(i);
    if (slot == nullptr || !std::holds_alternative<Loss>(*slot)) continue;
    give_loss();
    return true;
  }
  return false;
}

// True if all inputs are constants that are not learned, and with that the result.
Result<bool> GraphDefTranslator::fold(const GraphDefNode& node) {
  const std::vector<const Constant*> inputs = constants();
  const bool is_constant = !inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [](const Constant* c) {
    return c != nullptr && !c->learned;
  });
  if (!is_constant) return false;
  if (node.op.starts_with("Random") || node.op == "TruncatedNormal" || node.op == "Shape" || node.op == "ShapeN" ||
      node.op == "Size" || node.op == "Rank") {
    return false;
  }
  ORRERY_TRY(std::optional<Constant> folded, fold_graphdef(node, inputs));
  if (folded) {
    give(std::move(*folded));
    return true;
  }
  for (std::size_t i = 0; i < node.output_shapes.size(); ++i) {
    Constant constant;
    ORRERY_TRY(constant.dims, stated_dims(node.output_shapes[i], "its output"));
    constant.dtype = element_type_of(node.type("T")).value_or(DataType::kFloat32);
    give(std::move(constant), i);
  }
  return !node.output_shapes.empty();
}

// Without a loss operator in the file: one on the first result, and on each other of the same shape.
Status GraphDefTranslator::add_losses() {
  if (has_loss_ || phases_.has_backward) return {};
  std::optional<Shape> shape;
  for (const std::int32_t result : phases_.results) {
    const auto& slots = slots_[static_cast<std::size_t>(result)];
    const Bound* bound = slots.empty() ? nullptr : std::get_if<Bound>(&slots[0]);
    if (bound == nullptr || (shape && !(shape_of(*bound) == *shape))) continue;
    shape = shape_of(*bound);
    ORRERY_TRY_VOID(emit(kCrossEntropy, "cross_entropy", {bound->value}));
  }
  if (!shape) return Error::unsupported("no result of the graph depends on an input");
  return {};
}

Result<Dims> GraphDefTranslator::stated_dims(const GraphDefShape& shape, std::string_view what) const {
  if (!shape) return Error::unsupported(fmt::format("the graph does not say the shape of {}", what));
  Dims dims = *shape;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] >= 0) continue;
    if (i > 0) {
      return Error::unsupported(fmt::format("{}: dimension {} is open; only the batch (dimension 0) may be", what, i));
    }
    dims[i] = batch_;
  }
  return dims;
}

// With the shapes the graph states for its outputs. Only the first must be stated.
Status GraphDefTranslator::other(const GraphDefNode& node) {
  if (node.output_shapes.empty()) {
    return Error::unsupported(
        "there is no rule for this operator, and the graph does not say its shape; write it with add_shapes=True");
  }
  std::vector<Dims> outputs;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < node.output_shapes.size(); ++i) {
    auto dims = stated_dims(node.output_shapes[i], fmt::format("output {}", i));
    if (!dims && i == 0) return std::move(dims).error().with_context("there is no rule for this operator");
    if (!dims) continue;
    outputs.push_back(std::move(*dims));
    places.push_back(i);
  }
  const DataType dtype = element_type_of(node.type("T")).value_or(DataType::kFloat32);
  ORRERY_TRY(const std::vector<Bound> results, as_other(values(), std::move(outputs), dtype));
  for (std::size_t i = 0; i < results.size(); ++i) give(results[i], places[i]);
  return {};
}

}  // namespace import

namespace {

// A weight takes its size from its input, which must not be the batch.
Status check_weights(const TrainingGraph& graph) {
  for (const std::int64_t batch : {2, 3}) {
    const auto other = graph.with_batch(batch);
    if (other && other->parameter_count() != graph.parameter_count()) {
      return Error::unsupported("the size of a weight depends on the batch");
    }
  }
  return {};
}

}  // namespace

Result<TrainingGraph> translate_graphdef(const GraphDef& graph, const std::string& name) {
  ORRERY_TRY(const GraphDefIndex index, GraphDefIndex::make(graph));
  const GraphDefPhases phases = graphdef_phases(index);
  import::GraphDefTranslator open(index, phases, import::kOpenBatch);
  auto made = open.run(name);
  if (!made && open.has_open_batch()) made = import::GraphDefTranslator(index, phases, 1).run(name);
  if (!made) return made;
  ORRERY_TRY_VOID(check_weights(*made));
  if (made->batch() == 1) return made;
  auto single = made->with_batch(1);
  if (single) return single;
  // Something is made for a batch of 1 although the graph leaves the batch open.
  return open.has_open_batch() ? import::GraphDefTranslator(index, phases, 1).run(name) : std::move(made);
}

}  // namespace orrery::workload
