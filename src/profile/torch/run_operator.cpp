// How each operator computes. Each case is the call an eager PyTorch program makes for that layer, so that the calls
// and their order are those of the model in Python.

#include "base/check.h"
#include "profile/torch/model.h"

namespace orrery::profile {

using workload::Operator;
using workload::OperatorKind;
using enum workload::OperatorKind;

namespace {

using Tensors = std::vector<at::Tensor>;

// The number of kScale is not part of the graph. This one keeps deep sums of scaled values in range.
constexpr double kScaleFactor = 0.5;
constexpr double kNormEpsilon = 1e-5;

c10::optional<at::Tensor> optional_at(const Tensors& tensors, std::size_t index) {
  return index < tensors.size() ? c10::make_optional(tensors[index]) : c10::nullopt;
}

at::Tensor convolve(const Operator& op, const at::Tensor& x, const Tensors& p) {
  const auto& a = std::get<workload::ConvAttributes>(op.attributes);
  const workload::Window2d& w = a.window;
  const std::int64_t stride[] = {w.stride_h, w.stride_w}, padding[] = {w.padding_h, w.padding_w};
  const std::int64_t dilation[] = {w.dilation_h, w.dilation_w}, none[] = {0, 0};
  if (op.kind == kConv2d) return at::conv2d(x, p[0], optional_at(p, 1), stride, padding, dilation, a.groups);
  return at::conv_transpose2d(x, p[0], optional_at(p, 1), stride, padding, none, a.groups, dilation);
}

at::Tensor linear(const Model& model, const Operator& op, const at::Tensor& x, const Tensors& p) {
  if (!op.tied_to.valid()) return at::linear(x, p[0], optional_at(p, 1));
  return at::linear(x, model.parameters[op.tied_to][0], optional_at(p, 0));
}

at::Tensor attend(const Operator& op, const Tensors& in) {
  const std::int64_t repeats = in[0].size(1) / in[1].size(1);  // query heads that share one key and value head
  const at::Tensor k = repeats == 1 ? in[1] : at::repeat_interleave(in[1], repeats, 1);
  const at::Tensor v = repeats == 1 ? in[2] : at::repeat_interleave(in[2], repeats, 1);
  const bool is_causal = std::get<workload::AttentionAttributes>(op.attributes).causal;
  return std::get<0>(at::_scaled_dot_product_attention(in[0], k, v, c10::nullopt, 0.0, false, is_causal));
}

Tensors recur(const Operator& op, const Tensors& in, const Tensors& p) {
  const auto& a = std::get<workload::RecurrentAttributes>(op.attributes);
  const at::IntArrayRef state = dims_of(op.outputs[1].shape);
  const auto state_at = [&](std::size_t i) { return i < in.size() ? in[i] : at::zeros(state, in[0].options()); };
  constexpr bool kTrains = true, kBatchFirst = true;
  if (op.kind == kLstm) {
    auto [y, h, c] =
        at::lstm(in[0], {state_at(1), state_at(2)}, p, a.bias, a.layers, 0.0, kTrains, a.bidirectional, kBatchFirst);
    return {y, h, c};
  }
  auto [y, h] = op.kind == kGru
                    ? at::gru(in[0], state_at(1), p, a.bias, a.layers, 0.0, kTrains, a.bidirectional, kBatchFirst)
                    : at::rnn_tanh(in[0], state_at(1), p, a.bias, a.layers, 0.0, kTrains, a.bidirectional, kBatchFirst);
  return {y, h};
}

// Bags of equal length: [batch, indices] as one row of indices and where each bag starts.
at::Tensor embed_bags(const at::Tensor& indices, const at::Tensor& table) {
  const at::Tensor starts = at::arange(0, indices.numel(), indices.size(1), indices.options());
  return std::get<0>(at::embedding_bag(table, indices.reshape({-1}), starts));
}

at::Tensor normalize(const Operator& op, const at::Tensor& x, const Tensors& p, const Tensors& buffers) {
  const auto& a = std::get<workload::NormAttributes>(op.attributes);
  constexpr double kMomentum = 0.1;
  if (op.kind == kBatchNorm) {
    return at::batch_norm(x, optional_at(p, 0), optional_at(p, 1), buffers[0], buffers[1], true, kMomentum,
                          kNormEpsilon, false);
  }
  if (op.kind == kGroupNorm)
    return at::group_norm(x, a.groups, optional_at(p, 0), optional_at(p, 1), kNormEpsilon, false);
  const at::IntArrayRef normalized = x.sizes().slice(static_cast<std::size_t>(x.dim() - a.normalized_rank));
  const auto shaped = [&](std::size_t i) -> c10::optional<at::Tensor> {
    if (i >= p.size()) return c10::nullopt;
    return a.normalized_rank == 1 ? p[i] : p[i].reshape(normalized);
  };
  if (op.kind == kLayerNorm) return at::layer_norm(x, normalized, shaped(0), shaped(1), kNormEpsilon, false);
  at::Tensor scaled = x * at::rsqrt(x.pow(2).mean(-1, true) + kNormEpsilon);
  return p.empty() ? scaled : scaled * p[0];
}

at::Tensor activate(const Operator& op, const at::Tensor& given) {
  at::Tensor x = given;
  const bool here = op.in_place;
  switch (op.kind) {
    case kRelu:
      return here ? at::relu_(x) : at::relu(x);
    case kRelu6:
      return here ? at::hardtanh_(x, 0, 6) : at::hardtanh(x, 0, 6);
    case kHardtanh:
      return here ? at::hardtanh_(x) : at::hardtanh(x);
    case kLeakyRelu:
      return here ? at::leaky_relu_(x) : at::leaky_relu(x);
    case kSilu:
      return here ? at::silu_(x) : at::silu(x);
    case kHardswish:
      return here ? at::hardswish_(x) : at::hardswish(x);
    case kHardsigmoid:
      return here ? at::hardsigmoid_(x) : at::hardsigmoid(x);
    case kGelu:
      return at::gelu(x);
    case kSigmoid:
      return at::sigmoid(x);
    case kTanh:
      return at::tanh(x);
    default:
      return at::exp(x);
  }
}

at::Tensor combine(const Operator& op, const Tensors& in) {
  const at::Tensor& a = in[0];
  switch (op.kind) {
    case kAdd:
      return op.in_place ? a.add_(in[1]) : at::add(a, in[1]);
    case kSubtract:
      return op.in_place ? a.sub_(in[1]) : at::sub(a, in[1]);
    case kMultiply:
      return op.in_place ? a.mul_(in[1]) : at::mul(a, in[1]);
    default:
      return op.in_place ? a.div_(in[1]) : at::div(a, in[1]);
  }
}

at::Tensor pool(const Operator& op, const at::Tensor& x) {
  if (op.kind == kAdaptiveAvgPool2d) {
    const auto& a = std::get<workload::AdaptivePoolAttributes>(op.attributes);
    return at::adaptive_avg_pool2d(x, {a.height, a.width});
  }
  const workload::Window2d& w = std::get<workload::PoolAttributes>(op.attributes).window;
  const std::int64_t kernel[] = {w.kernel_h, w.kernel_w}, stride[] = {w.stride_h, w.stride_w};
  const std::int64_t padding[] = {w.padding_h, w.padding_w}, dilation[] = {w.dilation_h, w.dilation_w};
  if (op.kind == kAvgPool2d) return at::avg_pool2d(x, kernel, stride, padding, w.ceil_mode);
  return at::max_pool2d(x, kernel, stride, padding, dilation, w.ceil_mode);
}

at::Tensor reduce(const Operator& op, const at::Tensor& x) {
  const auto& a = std::get<workload::ReduceAttributes>(op.attributes);
  std::vector<std::int64_t> axes(a.axes.begin(), a.axes.end());
  if (axes.empty()) {
    for (std::int64_t i = 0; i < x.dim(); ++i) axes.push_back(i);
  }
  return op.kind == kMean ? at::mean(x, axes, a.keep) : at::sum(x, axes, a.keep);
}

at::Tensor pad(const Operator& op, const at::Tensor& x) {
  const auto& a = std::get<workload::PadAttributes>(op.attributes);
  std::vector<std::int64_t> pairs;  // from the last dimension to the first
  for (std::size_t i = a.before.size(); i-- > 0;) pairs.insert(pairs.end(), {a.before[i], a.after[i]});
  return at::constant_pad_nd(x, pairs);
}

// By half a window in both directions of an image [batch, height, width, channels]; any distance costs the same.
at::Tensor roll(const at::Tensor& x) {
  if (x.dim() < 3) return at::roll(x, 1, x.dim() - 1);
  const std::int64_t shifts[] = {-1, -1}, axes[] = {1, 2};
  return at::roll(x, shifts, axes);
}

at::Tensor pick(const Operator& op, const at::Tensor& x, const at::Tensor& table) {
  const auto& a = std::get<workload::IndexAttributes>(op.attributes);
  const bool keeps_batch = !a.dims.empty() && a.dims[0] == 0;
  const at::Tensor rows = keeps_batch ? x.reshape({x.size(0), -1}) : x.reshape({1, -1});
  return at::index_select(rows, 1, table).reshape(dims_of(op.outputs[0].shape));
}

at::Tensor drop(const Model& model, const Operator& op, const at::Tensor& x) {
  const double rate = model.is_random ? std::get<workload::RateAttributes>(op.attributes).rate : 0.0;
  if (op.kind == kDropout) {
    at::Tensor here = x;
    return op.in_place ? at::dropout_(here, rate, true) : at::dropout(x, rate, true);
  }
  if (rate == 0.0) return x;
  std::vector<std::int64_t> one_per_sample(static_cast<std::size_t>(x.dim()), 1);
  one_per_sample[0] = x.size(0);
  const at::Tensor kept = at::empty(one_per_sample, x.options()).bernoulli_(1 - rate).div_(1 - rate);
  return x * kept;
}

at::Tensor loss(const Model& model, workload::OperatorIndex at, const Operator& op, const Tensors& in) {
  const at::Tensor& target = in.size() > 1 ? in[1] : model.targets[at];
  if (op.kind == kMeanSquaredError) return at::mse_loss(in[0], target);
  if (op.kind == kBinaryCrossEntropy) return at::binary_cross_entropy_with_logits(in[0], target);
  const at::Tensor& x = in[0];
  if (x.dim() == 2) return at::cross_entropy_loss(x, target);
  const bool is_image = x.dim() == 4;
  const at::Tensor logits = is_image ? x.permute({0, 2, 3, 1}) : x;
  return at::cross_entropy_loss(logits.reshape({-1, logits.size(-1)}), target.reshape({-1}));
}

at::Tensor slice(const Operator& op, const at::Tensor& x) {
  const auto& a = std::get<workload::SliceAttributes>(op.attributes);
  return at::slice(x, a.axis, a.begin, a.end, a.step);
}

at::Tensor permute(const Operator& op, const at::Tensor& x) {
  const auto& order = std::get<workload::TransposeAttributes>(op.attributes).order;
  return x.permute(std::vector<std::int64_t>(order.begin(), order.end()));
}

at::Tensor expand(const at::Tensor& x, const at::Tensor& like) {
  std::vector<std::int64_t> dims(x.sizes().begin(), x.sizes().end());
  dims[0] = like.size(0);
  return x.expand(dims);
}

// Operators with one output.
at::Tensor run_single(const Model& model, workload::OperatorIndex at, const Operator& op, const Tensors& in) {
  const Tensors& p = model.parameters[at];
  const Tensors& buffers = model.buffers[at];
  switch (op.kind) {
    case kInput:
      return model.sources[at];
    case kParameter:
      return p[0];
    case kRandom:
      return at::randn(dims_of(op.outputs[0].shape), model.floats);
    case kConv2d:
    case kConvTranspose2d:
      return convolve(op, in[0], p);
    case kLinear:
      return linear(model, op, in[0], p);
    case kMatmul:
      return at::matmul(in[0], in[1]);
    case kAttention:
      return attend(op, in);
    case kEmbedding:
      return at::embedding(p[0], in[0]);
    case kEmbeddingBag:
      return embed_bags(in[0], p[0]);
    case kBatchNorm:
    case kLayerNorm:
    case kGroupNorm:
    case kRmsNorm:
      return normalize(op, in[0], p, buffers);
    case kRelu:
    case kRelu6:
    case kLeakyRelu:
    case kHardtanh:
    case kGelu:
    case kSilu:
    case kHardswish:
    case kHardsigmoid:
    case kSigmoid:
    case kTanh:
    case kExp:
      return activate(op, in[0]);
    case kSoftmax:
      return at::softmax(in[0], std::get<workload::AxisAttributes>(op.attributes).axis);
    case kAdd:
    case kSubtract:
    case kMultiply:
    case kDivide:
      return combine(op, in);
    case kScale:
      return at::mul(in[0], kScaleFactor);
    case kMaxPool2d:
    case kAvgPool2d:
    case kAdaptiveAvgPool2d:
      return pool(op, in[0]);
    case kMean:
    case kSum:
      return reduce(op, in[0]);
    case kReshape:
      return at::reshape(in[0], dims_of(op.outputs[0].shape));
    case kTranspose:
      return permute(op, in[0]);
    case kSlice:
      return slice(op, in[0]);
    case kExpand:
      return expand(in[0], in[1]);
    case kContiguous:
      return in[0].contiguous();
    case kConcat:
      return at::cat(in, std::get<workload::AxisAttributes>(op.attributes).axis);
    case kPad:
      return pad(op, in[0]);
    case kRoll:
      return roll(in[0]);
    case kIndex:
      return pick(op, in[0], buffers[0]);
    case kDropout:
    case kStochasticDepth:
      return drop(model, op, in[0]);
    case kCrossEntropy:
    case kMeanSquaredError:
    case kBinaryCrossEntropy:
      return loss(model, at, op, in);
    case kRnn:
    case kLstm:
    case kGru:
    case kOther:
      break;
  }
  ORRERY_CHECK(false);  // recurrences have several outputs; make_model refuses kOther
  return {};
}

}  // namespace

std::vector<at::Tensor> run_operator(const Model& model, workload::OperatorIndex at,
                                     const std::vector<at::Tensor>& inputs) {
  const Operator& op = model.graph[at];
  if (op.kind == kRnn || op.kind == kLstm || op.kind == kGru) {
    return recur(op, inputs, model.parameters[at]);
  }
  return {run_single(model, at, op, inputs)};
}

}  // namespace orrery::profile
