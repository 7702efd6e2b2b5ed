// Convolutions, pooling, matrix products, tables and cells of recurrences; see translator.h.

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "workload/import/graphdef/translator.h"

namespace orrery::workload::import {

using enum OperatorKind;

namespace {

constexpr std::int64_t kLargestWindow = 1 << 14;

bool is_channels_first(const GraphDefNode& node) {
  return node.text("data_format", "NHWC") == "NCHW";
}

// Height and width of a list of four numbers.
struct Pair {
  std::int64_t h = 1, w = 1;
};

Result<Pair> spatial(const GraphDefNode& node, std::string_view name) {
  const Dims& list = node.integers(name);
  if (list.empty()) return Pair{};
  const std::size_t at = is_channels_first(node) ? 2 : 1;
  if (list.size() != 4) return Error::invalid(fmt::format("{} has {} numbers; expected 4", name, list.size()));
  const Pair pair{list[at], list[at + 1]};
  if (std::min(pair.h, pair.w) < 1 || std::max(pair.h, pair.w) > kLargestWindow) {
    return Error::invalid(fmt::format("{} has {} and {}; expected 1 to {}", name, pair.h, pair.w, kLargestWindow));
  }
  for (const std::size_t other : {std::size_t{0}, at == 1 ? std::size_t{3} : std::size_t{1}}) {
    if (list[other] != 1) return Error::unsupported(fmt::format("{} over batch or channels", name));
  }
  return pair;
}

struct Padding {
  std::int64_t before = 0, after = 0;
};

Result<Padding> padding_of(const GraphDefNode& node, int axis, std::int64_t size, std::int64_t extent,
                           std::int64_t stride) {
  const std::string_view kind = node.text("padding", "VALID");
  if (kind == "VALID") return Padding{};
  if (kind == "SAME") {
    const std::int64_t outputs = (size + stride - 1) / stride;
    const std::int64_t total = std::max<std::int64_t>((outputs - 1) * stride + extent - size, 0);
    return Padding{total / 2, total - total / 2};
  }
  const Dims& list = node.integers("explicit_paddings");
  if (kind != "EXPLICIT" || list.size() != 8) return Error::unsupported("padding " + quote(kind));
  const std::size_t at = 2 * static_cast<std::size_t>(is_channels_first(node) ? axis : axis - 1);
  const Padding padding{list[at], list[at + 1]};
  const bool sound =
      std::min(padding.before, padding.after) >= 0 && std::max(padding.before, padding.after) <= kLargestWindow;
  if (!sound) return Error::invalid("explicit_paddings are out of range");
  return padding;
}

}  // namespace

Result<Bound> GraphDefTranslator::image_at(const GraphDefNode& node, std::size_t input) {
  ORRERY_TRY(const Bound x, any_value_at(input));
  if (shape_of(x).rank() != 4) {
    return Error::invalid(fmt::format("expected an image of four dimensions, got {}", shape_of(x).to_string()));
  }
  return is_channels_first(node) ? plain(x) : image(x);
}

Result<GraphDefTranslator::Window> GraphDefTranslator::window_of(const GraphDefNode& node, std::int64_t kernel_h,
                                                                 std::int64_t kernel_w, const Shape& image) {
  if (std::max(kernel_h, kernel_w) > kLargestWindow) return Error::invalid("the kernel is too large");
  ORRERY_TRY(const Pair stride, spatial(node, "strides"));
  ORRERY_TRY(const Pair dilation, spatial(node, "dilations"));
  ORRERY_TRY(const Padding h, padding_of(node, 2, image[2], dilation.h * (kernel_h - 1) + 1, stride.h));
  ORRERY_TRY(const Padding w, padding_of(node, 3, image[3], dilation.w * (kernel_w - 1) + 1, stride.w));
  Window window;
  window.shape = {.kernel_h = kernel_h,
                  .kernel_w = kernel_w,
                  .stride_h = stride.h,
                  .stride_w = stride.w,
                  .padding_h = std::min(h.before, h.after),
                  .padding_w = std::min(w.before, w.after),
                  .dilation_h = dilation.h,
                  .dilation_w = dilation.w};
  window.before[0] = h.before - window.shape.padding_h;
  window.after[0] = h.after - window.shape.padding_h;
  window.before[1] = w.before - window.shape.padding_w;
  window.after[1] = w.after - window.shape.padding_w;
  return window;
}

Status GraphDefTranslator::conv(const GraphDefNode& node) {
  ORRERY_TRY(Bound x, image_at(node, 0));
  const Constant* weight = constant_at(1);
  if (weight == nullptr || !weight->learned) return Error::unsupported("its filter is not a variable");
  const Dims w = weight->dims;
  if (w.size() != 4) return Error::invalid(fmt::format("its filter is [{}]", fmt::join(w, ", ")));
  const std::int64_t channels = shape_of(x)[1];
  const bool is_depthwise = node.op == "DepthwiseConv2dNative";
  const bool fits = w[2] >= 1 && channels % w[2] == 0 && (!is_depthwise || w[2] == channels);
  if (!fits) {
    return Error::invalid(fmt::format("filter [{}] does not fit {} channels", fmt::join(w, ", "), channels));
  }
  ORRERY_TRY(const Window window, window_of(node, w[0], w[1], shape_of(x)));
  ORRERY_TRY(x, padded(x, {0, 0, window.before[0], window.before[1]}, {0, 0, window.after[0], window.after[1]}));
  ORRERY_TRY_VOID(own(*weight));
  if (is_depthwise && w[3] > kMaxElements / channels) return Error::invalid("its filter is too large");
  const ConvAttributes attributes{is_depthwise ? channels * w[3] : w[3], window.shape,
                                  is_depthwise ? channels : channels / w[2], false};
  ORRERY_TRY(x.value, emit(kConv2d, node.name, {x.value}, attributes));
  give(x);
  return {};
}

// A transposed convolution: sizes of the result, filter [h, w, out, in], image.
Status GraphDefTranslator::conv_transpose(const GraphDefNode& node) {
  ORRERY_TRY(const Dims sizes, integers_at(0, "the size of its result"));
  ORRERY_TRY(Bound x, image_at(node, 2));
  const Constant* weight = constant_at(1);
  if (weight == nullptr || !weight->learned) return Error::unsupported("its filter is not a variable");
  const Dims w = weight->dims;
  if (w.size() != 4 || sizes.size() != 4 || w[3] != shape_of(x)[1]) return Error::invalid("its filter does not fit");
  if (std::max(w[0], w[1]) > kLargestWindow) return Error::invalid("the kernel is too large");
  ORRERY_TRY(const Pair stride, spatial(node, "strides"));
  ORRERY_TRY_VOID(own(*weight));
  const std::size_t at = is_channels_first(node) ? 2 : 1;
  const auto surplus = [](std::int64_t in, std::int64_t step, std::int64_t kernel, std::int64_t out) {
    return (in - 1) * step + kernel - std::clamp<std::int64_t>(out, 1, kMaxElements);
  };
  const std::int64_t h = surplus(shape_of(x)[2], stride.h, w[0], sizes[at]);
  const std::int64_t v = surplus(shape_of(x)[3], stride.w, w[1], sizes[at + 1]);
  const std::int64_t ph = std::clamp<std::int64_t>(h / 2, 0, kLargestWindow);
  const std::int64_t pv = std::clamp<std::int64_t>(v / 2, 0, kLargestWindow);
  const Window2d window{w[0], w[1], stride.h, stride.w, ph, pv};
  ORRERY_TRY(x.value, emit(kConvTranspose2d, node.name, {x.value}, ConvAttributes{w[2], window, 1, false}));
  ORRERY_TRY(x, padded(x, {0, 0, 0, 0}, {0, 0, 2 * ph - h, 2 * pv - v}));
  give(x);
  return {};
}

Status GraphDefTranslator::max_pool(const GraphDefNode& node) {
  return pool(node, kMaxPool2d);
}
Status GraphDefTranslator::avg_pool(const GraphDefNode& node) {
  return pool(node, kAvgPool2d);
}

Status GraphDefTranslator::pool(const GraphDefNode& node, OperatorKind kind) {
  ORRERY_TRY(Bound x, image_at(node, 0));
  ORRERY_TRY(const Pair kernel, spatial(node, "ksize"));
  ORRERY_TRY(const Window window, window_of(node, kernel.h, kernel.w, shape_of(x)));
  ORRERY_TRY(x, padded(x, {0, 0, window.before[0], window.before[1]}, {0, 0, window.after[0], window.after[1]}));
  ORRERY_TRY(x.value, emit(kind, node.name, {x.value}, PoolAttributes{window.shape}));
  give(x);
  return {};
}

// True if `bias` became the bias of the product that made input `x_input`.
Result<bool> GraphDefTranslator::merge_bias(std::size_t x_input, const Constant& bias) {
  ORRERY_TRY(const Bound x, any_value_at(x_input));
  Operator& op = producer(x);
  auto* conv = std::get_if<ConvAttributes>(&op.attributes);
  auto* linear = std::get_if<LinearAttributes>(&op.attributes);
  if ((conv == nullptr && linear == nullptr) || op.tied_to.valid() || !is_only_use(x_input)) return false;
  const std::int64_t channels = conv != nullptr ? conv->out_channels : linear->out_features;
  bool& has_bias = conv != nullptr ? conv->bias : linear->bias;
  const bool is_taken = owners_.contains(bias.source) || parameters_.contains(bias.source);
  if (has_bias || bias.elements() != channels || is_taken) return false;
  owners_.emplace(bias.source, x.value.op);
  has_bias = true;
  const TensorType input = type_of(op.inputs[0]);
  ORRERY_TRY_VOID(infer(op, std::span(&input, 1)));
  give(x);
  return true;
}

Status GraphDefTranslator::bias_add(const GraphDefNode& node) {
  const Constant* bias = constant_at(1);
  if (bias != nullptr && bias->learned) {
    ORRERY_TRY(const bool merged, merge_bias(0, *bias));
    if (merged) return {};
  }
  ORRERY_TRY(const Bound x, any_value_at(0));
  // Counted where it was used first.
  if (bias != nullptr && owners_.contains(bias->source)) return scale_by(x);
  ORRERY_TRY(Bound b, value_at(1));
  const bool channels_second = (x.channels_first || is_channels_first(node)) && shape_of(x).rank() == 4;
  if (channels_second) {
    ORRERY_TRY(b, reshaped(b, {shape_of(b).elements(), 1, 1}));
  }
  Bound result = x;
  ORRERY_TRY(result.value, emit(kAdd, node.name, {x.value, b.value}));
  give(result);
  return {};
}

// `weight` is [in, out], or [out, in] if it is transposed.
Result<Bound> GraphDefTranslator::linear(const Bound& x, const Constant& weight, bool weight_transposed, bool bias) {
  const std::int64_t in = weight.dims[weight_transposed ? 1 : 0], out = weight.dims[weight_transposed ? 0 : 1];
  if (shape_of(x).rank() < 1 || shape_of(x)[-1] != in) {
    return Error::invalid(
        fmt::format("its weight takes {} features, but its input is {}", in, shape_of(x).to_string()));
  }
  const std::string name = quote(index_.node(weight.source).name);
  if (parameters_.contains(weight.source)) {
    return Error::unsupported(fmt::format("its weight {} is also used as it is", name));
  }
  const auto [owner, is_new] = owners_.emplace(weight.source, OperatorIndex(operators_.size()));
  const OperatorIndex tied_to = is_new ? OperatorIndex() : owner->second;
  if (!is_new) {
    const auto& parameters = operators_[tied_to].parameters;
    const bool fits = !parameters.empty() && parameters[0].shape.rank() == 2 && parameters[0].shape[0] == out &&
                      parameters[0].shape[1] == in;
    if (!fits) return Error::unsupported(fmt::format("its weight {} is already used in another form", name));
  }
  Bound result = x;
  if (x.batch.axis == shape_of(x).rank() - 1) result.batch.axis = -1;
  ORRERY_TRY(result.value, emit(kLinear, index_.node(current_).name, {x.value}, LinearAttributes{out, bias}, tied_to));
  return result;
}

Result<Bound> GraphDefTranslator::product(const Bound& a, const Bound& b) {
  const int rank_a = shape_of(a).rank(), rank_b = shape_of(b).rank(), rank = std::max(rank_a, rank_b);
  Bound result;
  if (a.batch.axis >= 0 && a.batch.axis != rank_a - 1) {
    result = a;
    result.batch.axis += rank - rank_a;
  } else if (b.batch.axis >= 0 && b.batch.axis != rank_b - 2) {
    result = b;
    result.batch.axis += rank - rank_b;
  }
  ORRERY_TRY(result.value, emit(kMatmul, index_.node(current_).name, {a.value, b.value}));
  return result;
}

Status GraphDefTranslator::matmul(const GraphDefNode& node) {
  ORRERY_TRY(Bound a, value_at(0));
  if (node.flag("transpose_a")) {
    ORRERY_TRY(a, transposed(a, {1, 0}));
  }
  const Constant* weight = constant_at(1);
  const bool is_linear = weight != nullptr && weight->learned && weight->dims.size() == 2;
  if (is_linear) {
    ORRERY_TRY(const Bound result, linear(a, *weight, node.flag("transpose_b"), false));
    give(result);
    return {};
  }
  ORRERY_TRY(Bound b, value_at(1));
  if (node.flag("transpose_b")) {
    ORRERY_TRY(b, transposed(b, {1, 0}));
  }
  ORRERY_TRY(const Bound result, product(a, b));
  give(result);
  return {};
}

Status GraphDefTranslator::batch_matmul(const GraphDefNode& node) {
  const auto operand = [&](std::size_t input, std::string_view flag) -> Result<Bound> {
    ORRERY_TRY(const Bound x, value_at(input));
    const int rank = shape_of(x).rank();
    if (!node.flag(flag) || rank < 2) return x;
    std::vector<int> order;
    for (int i = 0; i < rank; ++i) order.push_back(i);
    std::swap(order[static_cast<std::size_t>(rank) - 1], order[static_cast<std::size_t>(rank) - 2]);
    return transposed(x, order);
  };
  ORRERY_TRY(const Bound a, operand(0, "adj_x"));
  const Constant* weight = constant_at(1);
  const bool is_linear = weight != nullptr && weight->learned && weight->dims.size() == 2;
  if (is_linear) {
    ORRERY_TRY(const Bound result, linear(a, *weight, node.flag("adj_y"), false));
    give(result);
    return {};
  }
  ORRERY_TRY(const Bound b, operand(1, "adj_y"));
  ORRERY_TRY(const Bound result, product(a, b));
  give(result);
  return {};
}

// Rows of a table by indices that are data; anything else by its shape.
Status GraphDefTranslator::gather(const GraphDefNode& node) {
  const Constant* table = constant_at(0);
  const Constant* axis = constant_at(2);
  const bool first_axis = axis == nullptr || (axis->known && axis->numbers == std::vector<double>{0});
  const bool is_table = table != nullptr && table->learned && table->dims.size() == 2 && constant_at(1) == nullptr;
  if (!is_table || !first_axis || owners_.contains(table->source) || parameters_.contains(table->source)) {
    return other(node);
  }
  ORRERY_TRY(Bound indices, value_at(1));
  owners_.emplace(table->source, OperatorIndex(operators_.size()));
  ORRERY_TRY(indices.value,
             emit(kEmbedding, node.name, {indices.value}, EmbeddingAttributes{table->dims[0], table->dims[1]}));
  give(indices);
  return {};
}

// x, cs_prev, h_prev, w [in + hidden, 4 · hidden], wci, wcf, wco, b → i, cs, f, o, ci, co, h: a linear layer of x and
// h_prev together, then the gates.
Status GraphDefTranslator::lstm_cell(const GraphDefNode& node) {
  ORRERY_TRY(const Bound x, value_at(0));
  ORRERY_TRY(const Bound cell, value_at(1));
  ORRERY_TRY(const Bound hidden, value_at(2));
  const Constant* weight = constant_at(3);
  if (weight == nullptr || !weight->learned || weight->dims.size() != 2) {
    return Error::unsupported("its weight is not a variable of two dimensions");
  }
  const Constant* bias = constant_at(7);
  const bool is_first = !owners_.contains(weight->source);
  Bound joined = x;
  ORRERY_TRY(joined.value, emit(kConcat, node.name + "/concat", {x.value, hidden.value}, AxisAttributes{1}));
  const bool has_bias = is_first && bias != nullptr && bias->learned;
  ORRERY_TRY(const Bound gates, linear(joined, *weight, false, has_bias));
  if (has_bias) owners_.emplace(bias->source, gates.value.op);
  constexpr std::size_t kOutputs = 7;
  const std::vector<Dims> outputs(kOutputs, dims_of(hidden));
  ORRERY_TRY(const std::vector<Bound> parts, as_other({gates, cell}, outputs, type_of(x.value).dtype));
  for (std::size_t i = 0; i < kOutputs; ++i) give(parts[i], i);
  return {};
}

}  // namespace orrery::workload::import
