// Shape and parameter rules of every operator kind; see infer() in operator.h.

#include <algorithm>
#include <fmt/format.h>

#include "workload/operator.h"
#include "workload/traits.h"

namespace orrery::workload {

namespace {

using Types = std::span<const TensorType>;

Status expect_inputs(const Operator& op, Types inputs, std::size_t least, std::size_t most) {
  if (inputs.size() >= least && inputs.size() <= most) return {};
  return Error::invalid(fmt::format("expected {} inputs, got {}",
                                    least == most ? std::to_string(least) : fmt::format("{} to {}", least, most),
                                    inputs.size()))
      .with_context(std::string(to_string(op.kind)));
}

Status expect_rank(const Shape& shape, int rank, std::string_view layout) {
  if (shape.rank() == rank) return {};
  return Error::invalid(fmt::format("expected input {}, got {}", layout, shape.to_string()));
}

Status expect_positive(std::int64_t number, std::string_view what) {
  if (number >= 1) return {};
  return Error::invalid(fmt::format("{} is {}; expected at least 1", what, number));
}

// The attributes an operator of this kind must carry.
template <class A>
Result<const A*> attributes_of(const Operator& op) {
  const A* found = std::get_if<A>(&op.attributes);
  if (found == nullptr) return Error::invalid(fmt::format("{} is missing its attributes", to_string(op.kind)));
  return found;
}

Result<int> resolve_axis(int axis, int rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  return Error::invalid(fmt::format("axis {} is out of range for rank {}", axis, rank));
}

// Multiplies positive numbers; fails instead of overflowing.
Result<std::int64_t> product(std::initializer_list<std::int64_t> factors, std::string_view what) {
  std::int64_t total = 1;
  for (const std::int64_t factor : factors) {
    if (factor > kMaxElements / total) {
      return Error::invalid(fmt::format("{} is larger than 2^48", what));
    }
    total *= factor;
  }
  return total;
}

// Windows of at most 2^14: times a dimension of 2^48 they stay below 2^63.
Status check_window(std::int64_t kernel, std::int64_t stride, std::int64_t padding, std::int64_t dilation,
                    std::string_view dimension) {
  constexpr std::int64_t kLargest = 1 << 14;
  const auto in_range = [](std::int64_t number, std::int64_t least) { return number >= least && number <= kLargest; };
  if (in_range(kernel, 1) && in_range(stride, 1) && in_range(dilation, 1) && in_range(padding, 0)) return {};
  return Error::invalid(fmt::format("{}: kernel {}, stride {} and dilation {} must be 1 to {}, padding {} 0 to {}",
                                    dimension, kernel, stride, dilation, kLargest, padding, kLargest));
}

Result<std::int64_t> window_output(std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                                   std::int64_t dilation, bool ceil_mode, std::string_view dimension) {
  ORRERY_TRY_VOID(check_window(kernel, stride, padding, dilation, dimension));
  const std::int64_t padded = input + 2 * padding;
  const std::int64_t extent = dilation * (kernel - 1) + 1;
  if (extent > padded) {
    return Error::invalid(fmt::format("{}: kernel covers {} but the padded input is only {} (input {}, padding {})",
                                      dimension, extent, padded, input, padding));
  }
  std::int64_t output = (padded - extent + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  // A window may not start in the padding after the input.
  if (ceil_mode && (output - 1) * stride >= input + padding) --output;
  return output;
}

Result<Shape> windowed(const Shape& input, std::int64_t channels, const Window2d& w) {
  ORRERY_TRY(const std::int64_t height,
             window_output(input[2], w.kernel_h, w.stride_h, w.padding_h, w.dilation_h, w.ceil_mode, "height"));
  ORRERY_TRY(const std::int64_t width,
             window_output(input[3], w.kernel_w, w.stride_w, w.padding_w, w.dilation_w, w.ceil_mode, "width"));
  const std::int64_t dims[] = {input[0], channels, height, width};
  return Shape::make(dims);
}

Status add_parameter(Operator& op, std::string name, std::initializer_list<std::int64_t> dims) {
  auto shape = Shape::make(std::span(dims.begin(), dims.size()));
  if (!shape) return std::move(shape).error().with_context("parameter " + name);
  op.parameters.push_back({std::move(name), *shape});
  return {};
}

Status set_output(Operator& op, Result<Shape> shape, DataType dtype) {
  ORRERY_TRY(const Shape sound, std::move(shape));
  op.outputs.push_back({sound, dtype});
  return {};
}

Status infer_conv(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const ConvAttributes* a, attributes_of<ConvAttributes>(op));
  const Shape& x = inputs[0].shape;
  ORRERY_TRY_VOID(expect_rank(x, 4, "[batch, channels, height, width]"));
  ORRERY_TRY_VOID(expect_positive(a->out_channels, "out_channels"));
  ORRERY_TRY_VOID(expect_positive(a->groups, "groups"));
  if (x[1] % a->groups != 0 || a->out_channels % a->groups != 0) {
    return Error::invalid(
        fmt::format("channels {} in and {} out must both be divisible by groups {}", x[1], a->out_channels, a->groups));
  }
  const Window2d& w = a->window;
  if (op.kind == OperatorKind::kConv2d) {
    ORRERY_TRY_VOID(add_parameter(op, "weight", {a->out_channels, x[1] / a->groups, w.kernel_h, w.kernel_w}));
    ORRERY_TRY_VOID(set_output(op, windowed(x, a->out_channels, w), inputs[0].dtype));
  } else {
    ORRERY_TRY_VOID(add_parameter(op, "weight", {x[1], a->out_channels / a->groups, w.kernel_h, w.kernel_w}));
    ORRERY_TRY_VOID(check_window(w.kernel_h, w.stride_h, w.padding_h, w.dilation_h, "height"));
    ORRERY_TRY_VOID(check_window(w.kernel_w, w.stride_w, w.padding_w, w.dilation_w, "width"));
    // Transposed: the output size whose ordinary convolution gives the input size back.
    const std::int64_t dims[] = {x[0], a->out_channels,
                                 (x[2] - 1) * w.stride_h - 2 * w.padding_h + w.dilation_h * (w.kernel_h - 1) + 1,
                                 (x[3] - 1) * w.stride_w - 2 * w.padding_w + w.dilation_w * (w.kernel_w - 1) + 1};
    ORRERY_TRY_VOID(set_output(op, Shape::make(dims), inputs[0].dtype));
  }
  if (a->bias) ORRERY_TRY_VOID(add_parameter(op, "bias", {a->out_channels}));
  return {};
}

Status infer_linear(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const LinearAttributes* a, attributes_of<LinearAttributes>(op));
  const Shape& x = inputs[0].shape;
  if (x.rank() < 1) return Error::invalid("expected at least one dimension, got a scalar");
  ORRERY_TRY_VOID(expect_positive(a->out_features, "out_features"));
  if (!op.tied_to.valid()) ORRERY_TRY_VOID(add_parameter(op, "weight", {a->out_features, x[-1]}));
  if (a->bias) ORRERY_TRY_VOID(add_parameter(op, "bias", {a->out_features}));
  return set_output(op, x.with(-1, a->out_features), inputs[0].dtype);
}

Status infer_matmul(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 2, 2));
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  if (a.rank() < 2 || b.rank() < 2 || a[-1] != b[-2]) {
    return Error::invalid(
        fmt::format("{} and {} cannot be multiplied: the last dimension of the first must equal the "
                    "last but one of the second",
                    a.to_string(), b.to_string()));
  }
  ORRERY_TRY(const Shape left, Shape::make(a.dims().first(static_cast<std::size_t>(a.rank() - 2))));
  ORRERY_TRY(const Shape right, Shape::make(b.dims().first(static_cast<std::size_t>(b.rank() - 2))));
  ORRERY_TRY(const Shape batch, broadcast(left, right));
  std::vector<std::int64_t> dims(batch.dims().begin(), batch.dims().end());
  dims.push_back(a[-2]);
  dims.push_back(b[-1]);
  return set_output(op, Shape::make(dims), inputs[0].dtype);
}

Status infer_attention(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 3, 3));
  const Shape &q = inputs[0].shape, &k = inputs[1].shape, &v = inputs[2].shape;
  for (const TensorType& type : inputs) {
    ORRERY_TRY_VOID(expect_rank(type.shape, 4, "[batch, heads, tokens, head size]"));
  }
  // Fewer key and value heads than query heads is grouped-query attention.
  const bool fits = q[0] == k[0] && k[0] == v[0] && q[1] % k[1] == 0 && k[1] == v[1] && q[3] == k[3] && k[2] == v[2];
  if (!fits) {
    return Error::invalid(
        fmt::format("query {}, key {} and value {} do not fit together", q.to_string(), k.to_string(), v.to_string()));
  }
  return set_output(op, q.with(3, v[3]), inputs[0].dtype);
}

int gates(OperatorKind kind) {
  return kind == OperatorKind::kLstm ? 4 : kind == OperatorKind::kGru ? 3 : 1;
}

Status infer_recurrent(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 3));
  ORRERY_TRY(const RecurrentAttributes* a, attributes_of<RecurrentAttributes>(op));
  const Shape& x = inputs[0].shape;
  ORRERY_TRY_VOID(expect_rank(x, 3, "[batch, steps, features]"));
  ORRERY_TRY_VOID(expect_positive(a->hidden, "hidden"));
  ORRERY_TRY_VOID(expect_positive(a->layers, "layers"));
  constexpr std::int64_t kMostLayers = 1024;
  if (a->layers > kMostLayers) return Error::invalid(fmt::format("layers {} is above {}", a->layers, kMostLayers));
  const std::int64_t directions = a->bidirectional ? 2 : 1;
  ORRERY_TRY(const std::int64_t rows, product({gates(op.kind), a->hidden}, "hidden"));
  ORRERY_TRY(const std::int64_t width, product({directions, a->hidden}, "hidden"));
  for (std::int64_t layer = 0; layer < a->layers; ++layer) {
    for (std::int64_t direction = 0; direction < directions; ++direction) {
      const std::string suffix = fmt::format("_l{}{}", layer, direction == 1 ? "_reverse" : "");
      ORRERY_TRY_VOID(add_parameter(op, "weight_ih" + suffix, {rows, layer == 0 ? x[2] : width}));
      ORRERY_TRY_VOID(add_parameter(op, "weight_hh" + suffix, {rows, a->hidden}));
      if (!a->bias) continue;
      ORRERY_TRY_VOID(add_parameter(op, "bias_ih" + suffix, {rows}));
      ORRERY_TRY_VOID(add_parameter(op, "bias_hh" + suffix, {rows}));
    }
  }
  ORRERY_TRY_VOID(set_output(op, x.with(2, width), inputs[0].dtype));
  const std::int64_t state[] = {a->layers * directions, x[0], a->hidden};
  ORRERY_TRY_VOID(set_output(op, Shape::make(state), inputs[0].dtype));
  if (op.kind == OperatorKind::kLstm) ORRERY_TRY_VOID(set_output(op, Shape::make(state), inputs[0].dtype));
  return {};
}

Status infer_embedding(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const EmbeddingAttributes* a, attributes_of<EmbeddingAttributes>(op));
  const Shape& x = inputs[0].shape;
  if (is_floating(inputs[0].dtype)) return Error::invalid("expected integer indices, got floating point");
  ORRERY_TRY_VOID(add_parameter(op, "weight", {a->rows, a->columns}));
  std::vector<std::int64_t> dims(x.dims().begin(), x.dims().end());
  if (op.kind == OperatorKind::kEmbeddingBag) {
    ORRERY_TRY_VOID(expect_rank(x, 2, "[batch, indices per bag]"));
    dims.pop_back();
  }
  dims.push_back(a->columns);
  return set_output(op, Shape::make(dims), DataType::kFloat32);
}

Status infer_norm(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const NormAttributes* a, attributes_of<NormAttributes>(op));
  const Shape& x = inputs[0].shape;
  const bool by_channel = op.kind == OperatorKind::kBatchNorm || op.kind == OperatorKind::kGroupNorm;
  if (by_channel && x.rank() < 2) {
    return Error::invalid(fmt::format("expected input [batch, channels, …], got {}", x.to_string()));
  }
  if (op.kind == OperatorKind::kGroupNorm && (a->groups < 1 || x[1] % a->groups != 0)) {
    return Error::invalid(fmt::format("{} channels are not divisible by {} groups", x[1], a->groups));
  }
  if (!by_channel && (a->normalized_rank < 1 || a->normalized_rank > x.rank())) {
    return Error::invalid(
        fmt::format("cannot normalise the last {} dimensions of {}", a->normalized_rank, x.to_string()));
  }
  std::int64_t size = 1;
  if (by_channel) {
    size = x[1];
  } else {
    for (int i = 1; i <= a->normalized_rank; ++i) size *= x[-i];
  }
  if (a->affine) {
    ORRERY_TRY_VOID(add_parameter(op, "weight", {size}));
    const bool has_bias = a->bias && op.kind != OperatorKind::kRmsNorm;
    if (has_bias) ORRERY_TRY_VOID(add_parameter(op, "bias", {size}));
  }
  return set_output(op, x, inputs[0].dtype);
}

Status infer_pool(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  const Shape& x = inputs[0].shape;
  ORRERY_TRY_VOID(expect_rank(x, 4, "[batch, channels, height, width]"));
  if (op.kind == OperatorKind::kAdaptiveAvgPool2d) {
    ORRERY_TRY(const AdaptivePoolAttributes* a, attributes_of<AdaptivePoolAttributes>(op));
    const std::int64_t dims[] = {x[0], x[1], a->height, a->width};
    return set_output(op, Shape::make(dims), inputs[0].dtype);
  }
  ORRERY_TRY(const PoolAttributes* a, attributes_of<PoolAttributes>(op));
  return set_output(op, windowed(x, x[1], a->window), inputs[0].dtype);
}

Status infer_reduce(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const ReduceAttributes* a, attributes_of<ReduceAttributes>(op));
  const Shape& x = inputs[0].shape;
  std::vector<bool> reduced(static_cast<std::size_t>(x.rank()), a->axes.empty());
  for (const int axis : a->axes) {
    ORRERY_TRY(const int resolved, resolve_axis(axis, x.rank()));
    reduced[static_cast<std::size_t>(resolved)] = true;
  }
  std::vector<std::int64_t> dims;
  for (int i = 0; i < x.rank(); ++i) {
    if (!reduced[static_cast<std::size_t>(i)])
      dims.push_back(x[i]);
    else if (a->keep)
      dims.push_back(1);
  }
  return set_output(op, Shape::make(dims), inputs[0].dtype);
}

Status infer_reshape(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const ReshapeAttributes* a, attributes_of<ReshapeAttributes>(op));
  const Shape& x = inputs[0].shape;
  std::vector<std::int64_t> dims = a->dims;
  int open = -1;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && static_cast<int>(i) < x.rank()) dims[i] = x[static_cast<int>(i)];
    if (dims[i] == -1 && open < 0) {
      open = static_cast<int>(i);
      continue;
    }
    if (dims[i] < 1 || dims[i] > x.elements()) {
      return Error::invalid(
          fmt::format("dimension {} of the new shape is {}; the input is {}", i, dims[i], x.to_string()));
    }
    ORRERY_TRY(known, product({known, dims[i]}, "the new shape"));
  }
  if (open >= 0 && x.elements() % known == 0) dims[static_cast<std::size_t>(open)] = x.elements() / known;
  ORRERY_TRY(const Shape shape, Shape::make(dims));
  if (shape.elements() != x.elements()) {
    return Error::invalid(fmt::format("{} cannot be reshaped to {}", x.to_string(), shape.to_string()));
  }
  return set_output(op, shape, inputs[0].dtype);
}

// Fills dimensions given as 0 from the input.
Result<Shape> complete_shape(std::vector<std::int64_t> dims, const Shape& input) {
  for (std::size_t i = 0; i < dims.size() && static_cast<int>(i) < input.rank(); ++i) {
    if (dims[i] == 0) dims[i] = input[static_cast<int>(i)];
  }
  return Shape::make(dims);
}

Status infer_index(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const IndexAttributes* a, attributes_of<IndexAttributes>(op));
  return set_output(op, complete_shape(a->dims, inputs[0].shape), inputs[0].dtype);
}

Status infer_other(Operator& op, Types inputs) {
  constexpr std::size_t kMostTensors = 4096;
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 0, kMostTensors));
  ORRERY_TRY(const OtherAttributes* a, attributes_of<OtherAttributes>(op));
  if (a->outputs.empty() || a->outputs.size() > kMostTensors || a->parameters.size() > kMostTensors) {
    return Error::invalid(fmt::format("expected 1 to {} outputs and at most as many parameters", kMostTensors));
  }
  const Shape first = inputs.empty() ? Shape() : inputs[0].shape;
  for (const auto& dims : a->parameters) {
    ORRERY_TRY(const Shape shape, Shape::make(dims));
    op.parameters.push_back({fmt::format("parameter_{}", op.parameters.size()), shape});
  }
  for (const auto& dims : a->outputs) ORRERY_TRY_VOID(set_output(op, complete_shape(dims, first), a->dtype));
  return {};
}

Status infer_transpose(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const TransposeAttributes* a, attributes_of<TransposeAttributes>(op));
  const Shape& x = inputs[0].shape;
  std::vector<int> sorted = a->order;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = static_cast<int>(sorted.size()) == x.rank();
  for (int i = 0; is_permutation && i < x.rank(); ++i) is_permutation = sorted[static_cast<std::size_t>(i)] == i;
  if (!is_permutation) {
    return Error::invalid(fmt::format("order [{}] is not a permutation of the {} dimensions of {}",
                                      fmt::join(a->order, ", "), x.rank(), x.to_string()));
  }
  std::vector<std::int64_t> dims;
  for (const int axis : a->order) dims.push_back(x[axis]);
  return set_output(op, Shape::make(dims), inputs[0].dtype);
}

Status infer_slice(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const SliceAttributes* a, attributes_of<SliceAttributes>(op));
  const Shape& x = inputs[0].shape;
  ORRERY_TRY(const int axis, resolve_axis(a->axis, x.rank()));
  if (a->begin < 0 || a->end <= a->begin || a->end > x[axis] || a->step < 1) {
    return Error::invalid(fmt::format("slice {}:{}:{} does not lie in dimension {} of {}", a->begin, a->end, a->step,
                                      axis, x.to_string()));
  }
  return set_output(op, x.with(axis, (a->end - a->begin + a->step - 1) / a->step), inputs[0].dtype);
}

// Repeats the first input along dimension 0 to the batch of the second.
Status infer_expand(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 2, 2));
  const Shape& x = inputs[0].shape;
  const Shape& like = inputs[1].shape;
  if (x.rank() < 1 || like.rank() < 1 || x[0] != 1) {
    return Error::invalid(fmt::format("expected dimension 0 to be 1, got {}", x.to_string()));
  }
  return set_output(op, x.with(0, like[0]), inputs[0].dtype);
}

Status infer_concat(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 4096));
  ORRERY_TRY(const AxisAttributes* a, attributes_of<AxisAttributes>(op));
  const Shape& first = inputs[0].shape;
  ORRERY_TRY(const int axis, resolve_axis(a->axis, first.rank()));
  std::int64_t total = 0;
  for (const TensorType& type : inputs) {
    bool fits = type.shape.rank() == first.rank();
    for (int i = 0; fits && i < first.rank(); ++i) fits = i == axis || type.shape[i] == first[i];
    if (!fits) {
      return Error::invalid(
          fmt::format("{} and {} differ outside dimension {}", first.to_string(), type.shape.to_string(), axis));
    }
    total += type.shape[axis];
  }
  return set_output(op, first.with(axis, total), inputs[0].dtype);
}

Status infer_pad(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const PadAttributes* a, attributes_of<PadAttributes>(op));
  const Shape& x = inputs[0].shape;
  const auto rank = static_cast<std::size_t>(x.rank());
  if (a->before.size() != rank || a->after.size() != rank) {
    return Error::invalid(fmt::format("expected one padding pair for each of the {} dimensions", rank));
  }
  std::vector<std::int64_t> dims;
  for (std::size_t i = 0; i < rank; ++i) {
    const bool sound = std::abs(a->before[i]) <= kMaxElements && std::abs(a->after[i]) <= kMaxElements;
    if (!sound) return Error::invalid(fmt::format("padding of dimension {} is larger than 2^48", i));
    dims.push_back(x[static_cast<int>(i)] + a->before[i] + a->after[i]);
  }
  return set_output(op, Shape::make(dims), inputs[0].dtype);
}

Status infer_softmax(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
  ORRERY_TRY(const AxisAttributes* a, attributes_of<AxisAttributes>(op));
  ORRERY_TRY_VOID(resolve_axis(a->axis, inputs[0].shape.rank()));
  return set_output(op, inputs[0].shape, inputs[0].dtype);
}

Status infer_source(Operator& op, Types inputs) {
  ORRERY_TRY_VOID(expect_inputs(op, inputs, 0, 0));
  ORRERY_TRY(const SourceAttributes* a, attributes_of<SourceAttributes>(op));
  if (op.kind == OperatorKind::kParameter) op.parameters.push_back({"value", a->type.shape});
  op.outputs.push_back(a->type);
  return {};
}

Status infer_by_kind(Operator& op, Types inputs) {
  switch (op.kind) {
    case OperatorKind::kInput:
    case OperatorKind::kParameter:
    case OperatorKind::kRandom:
      return infer_source(op, inputs);
    case OperatorKind::kConv2d:
    case OperatorKind::kConvTranspose2d:
      return infer_conv(op, inputs);
    case OperatorKind::kLinear:
      return infer_linear(op, inputs);
    case OperatorKind::kMatmul:
      return infer_matmul(op, inputs);
    case OperatorKind::kAttention:
      return infer_attention(op, inputs);
    case OperatorKind::kRnn:
    case OperatorKind::kLstm:
    case OperatorKind::kGru:
      return infer_recurrent(op, inputs);
    case OperatorKind::kEmbedding:
    case OperatorKind::kEmbeddingBag:
      return infer_embedding(op, inputs);
    case OperatorKind::kBatchNorm:
    case OperatorKind::kLayerNorm:
    case OperatorKind::kGroupNorm:
    case OperatorKind::kRmsNorm:
      return infer_norm(op, inputs);
    case OperatorKind::kSoftmax:
      return infer_softmax(op, inputs);
    case OperatorKind::kAdd:
    case OperatorKind::kSubtract:
    case OperatorKind::kMultiply:
    case OperatorKind::kDivide:
      ORRERY_TRY_VOID(expect_inputs(op, inputs, 2, 2));
      return set_output(op, broadcast(inputs[0].shape, inputs[1].shape), inputs[0].dtype);
    case OperatorKind::kMaxPool2d:
    case OperatorKind::kAvgPool2d:
    case OperatorKind::kAdaptiveAvgPool2d:
      return infer_pool(op, inputs);
    case OperatorKind::kMean:
    case OperatorKind::kSum:
      return infer_reduce(op, inputs);
    case OperatorKind::kReshape:
      return infer_reshape(op, inputs);
    case OperatorKind::kIndex:
      return infer_index(op, inputs);
    case OperatorKind::kOther:
      return infer_other(op, inputs);
    case OperatorKind::kTranspose:
      return infer_transpose(op, inputs);
    case OperatorKind::kSlice:
      return infer_slice(op, inputs);
    case OperatorKind::kExpand:
      return infer_expand(op, inputs);
    case OperatorKind::kConcat:
      return infer_concat(op, inputs);
    case OperatorKind::kPad:
      return infer_pad(op, inputs);
    case OperatorKind::kCrossEntropy:
    case OperatorKind::kMeanSquaredError:
    case OperatorKind::kBinaryCrossEntropy:
      ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 2));
      return set_output(op, Shape{}, inputs[0].dtype);
    case OperatorKind::kRelu:
    case OperatorKind::kRelu6:
    case OperatorKind::kLeakyRelu:
    case OperatorKind::kHardtanh:
    case OperatorKind::kGelu:
    case OperatorKind::kSilu:
    case OperatorKind::kHardswish:
    case OperatorKind::kHardsigmoid:
    case OperatorKind::kSigmoid:
    case OperatorKind::kTanh:
    case OperatorKind::kExp:
    case OperatorKind::kScale:
    case OperatorKind::kContiguous:
    case OperatorKind::kRoll:
    case OperatorKind::kDropout:
    case OperatorKind::kStochasticDepth:
      ORRERY_TRY_VOID(expect_inputs(op, inputs, 1, 1));
      return set_output(op, inputs[0].shape, inputs[0].dtype);
  }
  return Error::internal("operator kind without a shape rule");
}

}  // namespace

Status infer(Operator& op, Types inputs) {
  op.parameters.clear();
  op.outputs.clear();
  Status status = infer_by_kind(op, inputs);
  if (!status)
    return std::move(status).error().with_context(fmt::format("operator {} ({})", op.name, to_string(op.kind)));
  return {};
}

}  // namespace orrery::workload
