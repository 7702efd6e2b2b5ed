#include "workload/graph_builder.h"

#include <fmt/format.h>

#include "workload/traits.h"

namespace orrery::workload {

namespace {

Window2d window_of(const Conv& c) {
  return {.kernel_h = c.kernel,
          .kernel_w = c.kernel_w > 0 ? c.kernel_w : c.kernel,
          .stride_h = c.stride,
          .stride_w = c.stride_w > 0 ? c.stride_w : c.stride,
          .padding_h = c.padding,
          .padding_w = c.padding_w >= 0 ? c.padding_w : c.padding,
          .dilation_h = c.dilation,
          .dilation_w = c.dilation};
}

Window2d window_of(const Pool& p) {
  return {.kernel_h = p.kernel,
          .kernel_w = p.kernel,
          .stride_h = p.stride,
          .stride_w = p.stride,
          .padding_h = p.padding,
          .padding_w = p.padding,
          .ceil_mode = p.ceil_mode};
}

}  // namespace

GraphBuilder::Scope::Scope(GraphBuilder& builder, const std::string& name)
    : builder_(builder), outer_length_(builder.prefix_.size()) {
  builder_.prefix_ += name + ".";
}

void GraphBuilder::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

std::string GraphBuilder::unique(std::string name) {
  name = prefix_ + name;
  const int uses = used_names_[name]++;
  if (uses == 0) return name;
  std::string numbered = fmt::format("{}_{}", name, uses);
  while (used_names_[numbered]++ > 0) numbered = fmt::format("{}_{}", name, used_names_[name]++);
  return numbered;
}

Value GraphBuilder::add(OperatorKind kind, std::string name, std::vector<Value> inputs, Attributes attributes,
                        bool in_place) {
  if (error_) return {};
  Operator op;
  op.name = unique(std::move(name));
  op.kind = kind;
  op.attributes = std::move(attributes);
  op.inputs = std::move(inputs);
  op.in_place = in_place;
  std::vector<TensorType> types;
  for (const Value& input : op.inputs) {
    if (!input.op.valid()) {
      fail(Error::internal(fmt::format("operator {} uses a value that was never made", op.name)));
      return {};
    }
    types.push_back(output_type(operators_, input));
  }
  if (Status status = infer(op, types); !status) {
    fail(std::move(status).error());
    return {};
  }
  const OperatorIndex at(operators_.size());
  operators_.push_back(std::move(op));
  return {at, 0};
}

Value GraphBuilder::input(std::string name, Shape shape, DataType dtype) {
  return add(OperatorKind::kInput, std::move(name), {}, SourceAttributes{{shape, dtype}});
}

Value GraphBuilder::parameter(std::string name, Shape shape) {
  return add(OperatorKind::kParameter, std::move(name), {}, SourceAttributes{{shape, DataType::kFloat32}});
}

Value GraphBuilder::random_like(Value x) {
  return add(OperatorKind::kRandom, "random", {}, SourceAttributes{{shape(x), DataType::kFloat32}});
}

Value GraphBuilder::conv(Value x, std::string name, const Conv& c) {
  return add(OperatorKind::kConv2d, std::move(name), {x}, ConvAttributes{c.out, window_of(c), c.groups, c.bias});
}

Value GraphBuilder::conv_transpose(Value x, std::string name, const Conv& c) {
  return add(OperatorKind::kConvTranspose2d, std::move(name), {x},
             ConvAttributes{c.out, window_of(c), c.groups, c.bias});
}

Value GraphBuilder::linear(Value x, std::string name, std::int64_t out, bool bias) {
  return add(OperatorKind::kLinear, std::move(name), {x}, LinearAttributes{out, bias});
}

Value GraphBuilder::tied_linear(Value x, std::string name, Value embedding, bool bias) {
  if (error_) return {};
  const std::int64_t rows = operators_[embedding.op].parameters[0].shape[0];
  const Value y = add(OperatorKind::kLinear, std::move(name), {x}, LinearAttributes{rows, bias});
  if (error_) return {};
  Operator& op = operators_.back();
  op.tied_to = embedding.op;
  std::erase_if(op.parameters, [](const Parameter& parameter) { return parameter.name == "weight"; });
  return y;
}

Value GraphBuilder::matmul(Value a, Value b) {
  return add(OperatorKind::kMatmul, "matmul", {a, b});
}

Value GraphBuilder::attention(Value q, Value k, Value v, bool causal) {
  return add(OperatorKind::kAttention, "attention", {q, k, v}, AttentionAttributes{causal});
}

Value GraphBuilder::recurrent(OperatorKind kind, Value x, std::string name, const RecurrentAttributes& attributes,
                              std::vector<Value> initial_state) {
  std::vector<Value> inputs = {x};
  inputs.insert(inputs.end(), initial_state.begin(), initial_state.end());
  return add(kind, std::move(name), std::move(inputs), attributes);
}

Value GraphBuilder::embedding(Value indices, std::string name, std::int64_t rows, std::int64_t columns) {
  return add(OperatorKind::kEmbedding, std::move(name), {indices}, EmbeddingAttributes{rows, columns});
}

Value GraphBuilder::embedding_bag(Value indices, std::string name, std::int64_t rows, std::int64_t columns) {
  return add(OperatorKind::kEmbeddingBag, std::move(name), {indices}, EmbeddingAttributes{rows, columns});
}

Value GraphBuilder::batch_norm(Value x, std::string name) {
  return add(OperatorKind::kBatchNorm, std::move(name), {x}, NormAttributes{});
}

Value GraphBuilder::layer_norm(Value x, std::string name, bool bias) {
  return add(OperatorKind::kLayerNorm, std::move(name), {x}, NormAttributes{.bias = bias});
}

Value GraphBuilder::group_norm(Value x, std::string name, std::int64_t groups) {
  return add(OperatorKind::kGroupNorm, std::move(name), {x}, NormAttributes{.groups = groups});
}

Value GraphBuilder::rms_norm(Value x, std::string name) {
  return add(OperatorKind::kRmsNorm, std::move(name), {x}, NormAttributes{.bias = false});
}

Value GraphBuilder::activate(OperatorKind kind, Value x, bool in_place) {
  return add(kind, std::string(to_string(kind)), {x}, {}, in_place);
}

Value GraphBuilder::softmax(Value x, int axis) {
  return add(OperatorKind::kSoftmax, "softmax", {x}, AxisAttributes{axis});
}

Value GraphBuilder::sum_of(Value a, Value b, bool in_place) {
  return add(OperatorKind::kAdd, "add", {a, b}, {}, in_place);
}

Value GraphBuilder::difference(Value a, Value b) {
  return add(OperatorKind::kSubtract, "subtract", {a, b});
}

Value GraphBuilder::product(Value a, Value b) {
  return add(OperatorKind::kMultiply, "multiply", {a, b});
}

Value GraphBuilder::scaled(Value x) {
  return add(OperatorKind::kScale, "scale", {x});
}

Value GraphBuilder::max_pool(Value x, const Pool& pool) {
  return add(OperatorKind::kMaxPool2d, "max_pool2d", {x}, PoolAttributes{window_of(pool)});
}

Value GraphBuilder::avg_pool(Value x, const Pool& pool) {
  return add(OperatorKind::kAvgPool2d, "avg_pool2d", {x}, PoolAttributes{window_of(pool)});
}

Value GraphBuilder::adaptive_avg_pool(Value x, std::int64_t height, std::int64_t width) {
  return add(OperatorKind::kAdaptiveAvgPool2d, "adaptive_avg_pool2d", {x}, AdaptivePoolAttributes{height, width});
}

Value GraphBuilder::mean(Value x, std::vector<int> axes, bool keep) {
  return add(OperatorKind::kMean, "mean", {x}, ReduceAttributes{std::move(axes), keep});
}

Value GraphBuilder::sum(Value x, std::vector<int> axes, bool keep) {
  return add(OperatorKind::kSum, "sum", {x}, ReduceAttributes{std::move(axes), keep});
}

Value GraphBuilder::reshape(Value x, std::vector<std::int64_t> dims) {
  return add(OperatorKind::kReshape, "reshape", {x}, ReshapeAttributes{std::move(dims)});
}

Value GraphBuilder::flatten(Value x) {
  return reshape(x, {0, -1});
}

Value GraphBuilder::transpose(Value x, std::vector<int> order) {
  return add(OperatorKind::kTranspose, "transpose", {x}, TransposeAttributes{std::move(order)});
}

Value GraphBuilder::slice(Value x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  return add(OperatorKind::kSlice, "slice", {x}, SliceAttributes{axis, begin, end, step});
}

std::vector<Value> GraphBuilder::chunk(Value x, std::int64_t pieces, int axis) {
  const std::int64_t size = dim(x, axis);
  if (!error_ && size % pieces != 0) {
    fail(Error::invalid(fmt::format("{}: dimension {} of {} is not divisible into {} pieces", prefix_, axis,
                                    shape(x).to_string(), pieces)));
  }
  std::vector<Value> values;
  for (std::int64_t i = 0; i < pieces; ++i) {
    values.push_back(slice(x, axis, i * size / pieces, (i + 1) * size / pieces));
  }
  return values;
}

Value GraphBuilder::expand(Value x, Value batch_of) {
  return add(OperatorKind::kExpand, "expand", {x, batch_of});
}

Value GraphBuilder::contiguous(Value x) {
  return add(OperatorKind::kContiguous, "contiguous", {x});
}

Value GraphBuilder::concat(std::vector<Value> inputs, int axis) {
  return add(OperatorKind::kConcat, "concat", std::move(inputs), AxisAttributes{axis});
}

Value GraphBuilder::pad(Value x, std::vector<std::int64_t> before, std::vector<std::int64_t> after) {
  return add(OperatorKind::kPad, "pad", {x}, PadAttributes{std::move(before), std::move(after)});
}

Value GraphBuilder::roll(Value x) {
  return add(OperatorKind::kRoll, "roll", {x});
}

Value GraphBuilder::index(Value x, std::vector<std::int64_t> dims) {
  return add(OperatorKind::kIndex, "index", {x}, IndexAttributes{std::move(dims)});
}

Value GraphBuilder::dropout(Value x, double rate) {
  if (rate <= 0) return x;
  return add(OperatorKind::kDropout, "dropout", {x}, RateAttributes{rate});
}

Value GraphBuilder::stochastic_depth(Value x, double rate) {
  if (rate <= 0) return x;
  return add(OperatorKind::kStochasticDepth, "stochastic_depth", {x}, RateAttributes{rate});
}

Value GraphBuilder::cross_entropy(Value logits) {
  return add(OperatorKind::kCrossEntropy, "cross_entropy", {logits});
}

Value GraphBuilder::mean_squared_error(Value prediction) {
  return add(OperatorKind::kMeanSquaredError, "mean_squared_error", {prediction});
}

Value GraphBuilder::binary_cross_entropy(Value logits) {
  return add(OperatorKind::kBinaryCrossEntropy, "binary_cross_entropy", {logits});
}

const Shape& GraphBuilder::shape(Value x) const {
  static const Shape kScalar;
  if (error_ || !x.op.valid()) return kScalar;
  return output_type(operators_, x).shape;
}

std::int64_t GraphBuilder::dim(Value x, int axis) const {
  const Shape& s = shape(x);
  return axis < s.rank() && axis >= -s.rank() ? s[axis] : 1;
}

Result<TrainingGraph> GraphBuilder::finish() {
  if (error_) return std::move(*error_).with_context("model " + name_);
  auto graph = TrainingGraph::make(name_, std::move(operators_));
  if (!graph) return std::move(graph).error().with_context("model " + name_);
  return graph;
}

}  // namespace orrery::workload
