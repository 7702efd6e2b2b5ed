#include <algorithm>
#include <fmt/format.h>

#include "workload/import/onnx/translator.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

Status OnnxTranslator::own(const Constant& weight, const OnnxNode& node) {
  if (weight.source < 0 || weight.elements() != model_.initializers.at(weight.source).elements()) return {};
  const auto [owner, is_new] = owners_.emplace(weight.source, OperatorIndex(operators_.size()));
  if (is_new) return {};
  return Error::unsupported(fmt::format("its weight \"{}\" is already used by {}; {} cannot share weights",
                                        model_.name(weight.source), operators_[owner->second].name, node.type));
}

Result<PaddedWindow> OnnxTranslator::window_of(const OnnxNode& node, const Dims& kernel, const Dims& input,
                                               bool is_pool) {
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
  PaddedWindow w;
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

Result<OnnxValue> OnnxTranslator::as_image(const OnnxValue& x, std::size_t spatial) {
  const Dims dims = dims_of(x);
  if (dims.size() != spatial + 2) {
    return Error::invalid(
        fmt::format("expected an input of {} dimensions, got {}", spatial + 2, shape_of(x).to_string()));
  }
  if (spatial == 2) return x;
  return reshaped_as(x, {dims[0], dims[1], 1, dims[2]}, x);
}

Result<OnnxValue> OnnxTranslator::from_image(const OnnxValue& x, std::size_t spatial) {
  if (spatial == 2) return x;
  const Dims dims = dims_of(x);
  return reshaped_as(x, {dims[0], dims[1], dims[3]}, x);
}

Result<std::size_t> OnnxTranslator::spatial_dimensions(const Dims& weight) {
  if (weight.size() == 3 || weight.size() == 4) return weight.size() - 2;
  return Error::unsupported(fmt::format("its weight [{}] is not of a 1-D or 2-D convolution", fmt::join(weight, ", ")));
}

Status OnnxTranslator::conv(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  ORRERY_TRY(const Constant* weight, weight_at(node, 1, "weight"));
  const Dims w = weight->dims;
  ORRERY_TRY(const std::size_t spatial, spatial_dimensions(w));
  ORRERY_TRY_VOID(own(*weight, node));
  ORRERY_TRY(OnnxValue image, as_image(x, spatial));
  const std::int64_t groups = node.integer("group", 1);
  const std::int64_t channels = shape_of(image)[1];
  if (groups < 1 || channels % groups != 0 || w[1] != channels / groups) {
    return Error::invalid(fmt::format("weight [{}] in {} groups does not fit the {} channels of its input",
                                      fmt::join(w, ", "), groups, channels));
  }
  ORRERY_TRY(const PaddedWindow window, window_of(node, Dims(w.begin() + 2, w.end()), dims_of(x), false));
  ORRERY_TRY(image,
             padded(image, {0, 0, window.before[0], window.before[1]}, {0, 0, window.after[0], window.after[1]}));
  ORRERY_TRY(image.value, emit(kConv2d, name_of(node), {image.value},
                               ConvAttributes{w[0], window.shape, groups, input_id(node, 2) != kNoTensor}));
  ORRERY_TRY(const OnnxValue result, from_image(image, spatial));
  give(node, result);
  return {};
}

Status OnnxTranslator::conv_transpose(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  ORRERY_TRY(const Constant* weight, weight_at(node, 1, "weight"));
  const Dims w = weight->dims;
  ORRERY_TRY(const std::size_t spatial, spatial_dimensions(w));
  ORRERY_TRY_VOID(own(*weight, node));
  ORRERY_TRY(OnnxValue image, as_image(x, spatial));
  const std::int64_t groups = node.integer("group", 1);
  if (groups < 1 || groups > kMaxElements || w[1] > kMaxElements / groups || w[0] != shape_of(image)[1]) {
    return Error::invalid(fmt::format("weight [{}] in {} groups does not fit the {} channels of its input",
                                      fmt::join(w, ", "), groups, shape_of(image)[1]));
  }
  if (node.find("output_shape") != nullptr) return Error::unsupported("output_shape cannot be read; use pads");
  if (node.text("auto_pad", "NOTSET").starts_with("SAME"))
    return Error::unsupported("auto_pad cannot be read; use pads");
  ORRERY_TRY(const PaddedWindow window, window_of(node, Dims(w.begin() + 2, w.end()), dims_of(x), false));
  ORRERY_TRY(image.value, emit(kConvTranspose2d, name_of(node), {image.value},
                               ConvAttributes{w[1] * groups, window.shape, groups, input_id(node, 2) != kNoTensor}));
  ORRERY_TRY(image,
             padded(image, {0, 0, -window.before[0], -window.before[1]},
                    {0, 0, window.output_padding[0] - window.after[0], window.output_padding[1] - window.after[1]}));
  ORRERY_TRY(const OnnxValue result, from_image(image, spatial));
  give(node, result);
  return {};
}

Result<OnnxValue> OnnxTranslator::linear(const OnnxNode& node, const OnnxValue& x, const Constant& weight,
                                         std::int64_t in, std::int64_t out, bool bias, std::string name) {
  if (shape_of(x).rank() < 1 || shape_of(x)[-1] != in) {
    return Error::invalid(
        fmt::format("its weight takes {} features, but its input is {}", in, shape_of(x).to_string()));
  }
  OnnxValue result = x;
  if (x.batch_axis == shape_of(x).rank() - 1) result.batch_axis = -1;
  OperatorIndex tied_to;
  const bool is_whole = weight.source >= 0 && weight.elements() == model_.initializers.at(weight.source).elements();
  if (is_whole) {
    const auto [owner, is_new] = owners_.emplace(weight.source, OperatorIndex(operators_.size()));
    if (!is_new) {
      tied_to = owner->second;
      const auto& parameters = operators_[tied_to].parameters;
      const bool fits = !parameters.empty() && parameters[0].shape.rank() == 2 && parameters[0].shape[0] == out &&
                        parameters[0].shape[1] == in;
      if (!fits) {
        return Error::unsupported(fmt::format("its weight \"{}\" is already used, in another form, by {}",
                                              model_.name(weight.source), operators_[tied_to].name));
      }
    }
  }
  if (name.empty()) name = name_of(node);
  ORRERY_TRY(result.value, emit(kLinear, std::move(name), {x.value}, LinearAttributes{out, bias}, tied_to));
  return result;
}

Result<OnnxValue> OnnxTranslator::swapped(const OnnxValue& x) {
  if (shape_of(x).rank() != 2) return Error::invalid("expected a matrix, got " + shape_of(x).to_string());
  return transposed(x, {1, 0});
}

Status OnnxTranslator::gemm(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue a, value_at(node, 0));
  if (node.integer("transA", 0) != 0) {
    ORRERY_TRY(a, swapped(a));
  }
  const bool transposed_b = node.integer("transB", 0) != 0;
  const Constant* weight = constant_at(node, 1);
  const Constant* bias = constant_at(node, 2);
  OnnxValue result;
  bool biased = false;
  if (weight != nullptr && weight->dims.size() == 2) {
    const std::int64_t in = weight->dims[transposed_b ? 1 : 0], out = weight->dims[transposed_b ? 0 : 1];
    biased = bias != nullptr && bias->elements() == out;
    ORRERY_TRY(result, linear(node, a, *weight, in, out, biased, {}));
  } else {
    ORRERY_TRY(OnnxValue b, value_at(node, 1));
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

Result<OnnxValue> OnnxTranslator::multiplied(const OnnxNode& node, const OnnxValue& a, const OnnxValue& b) {
  const int rank_a = shape_of(a).rank(), rank_b = shape_of(b).rank();
  OnnxValue result;
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

Status OnnxTranslator::matmul(const OnnxNode& node) {
  const Constant* weight = constant_at(node, 1);
  ORRERY_TRY(const OnnxValue a, value_at(node, 0));
  if (weight == nullptr || weight->dims.size() != 2) {
    ORRERY_TRY(const OnnxValue b, value_at(node, 1));
    ORRERY_TRY(const OnnxValue result, multiplied(node, a, b));
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
  ORRERY_TRY(const OnnxValue result, linear(node, a, *weight, in, out, add != nullptr, std::move(name)));
  give(add != nullptr ? *add : node, result);
  return {};
}

const OnnxNode* OnnxTranslator::bias_after(TensorId product, std::int64_t out) const {
  const std::int32_t user = uses_.only_user(product);
  if (user < 0) return nullptr;
  const OnnxNode& add = model_.nodes[static_cast<std::size_t>(user)];
  if (add.type != "Add" || !add.domain.empty() || add.inputs.size() != 2 || add.outputs.size() != 1) return nullptr;
  if (fusions_.inside[static_cast<std::size_t>(user)] || fusions_.at.contains(user)) return nullptr;
  const Constant* bias = constant_of(add.inputs[add.inputs[0] == product ? 1 : 0]);
  return bias != nullptr && bias->dims == Dims{out} ? &add : nullptr;
}

Status OnnxTranslator::recurrent(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
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
  ORRERY_TRY(OnnxValue y, emit_recurrent(node, kind, x, attributes));
  const int outputs = kind == kLstm ? 3 : 2;
  for (int i = 1; i < outputs && i < static_cast<int>(node.outputs.size()); ++i) {
    OnnxValue last{{y.value.op, i}, 1, 1};
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

Result<OnnxValue> OnnxTranslator::emit_recurrent(const OnnxNode& node, OperatorKind kind, const OnnxValue& x,
                                                 const RecurrentAttributes& attributes) {
  OnnxValue y = x;
  ORRERY_TRY(y.value, emit(kind, name_of(node), {x.value}, attributes));
  return y;
}

}  // namespace orrery::workload::import
