// Operators that work element by element, reductions, norms and losses; see translator.h.

#include <algorithm>
#include <fmt/format.h>

#include "workload/import/graphdef/translator.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

namespace {

OperatorKind activation_kind(std::string_view op) {
  if (op == "Relu") return kRelu;
  if (op == "Relu6") return kRelu6;
  if (op == "LeakyRelu") return kLeakyRelu;
  if (op == "Sigmoid") return kSigmoid;
  return op == "Tanh" ? kTanh : kExp;
}

OperatorKind arithmetic_kind(std::string_view op) {
  if (op == "Sub") return kSubtract;
  if (op == "Mul") return kMultiply;
  return op == "RealDiv" || op == "Div" ? kDivide : kAdd;
}

}  // namespace

// A ReLU overwrites its input where no other node needs it.
Status GraphDefTranslator::activation(const GraphDefNode& node) {
  ORRERY_TRY(Bound x, any_value_at(0));
  const OperatorKind kind = activation_kind(node.op);
  const OperatorTraits& before = traits(producer(x).kind);
  const bool overwrites = (kind == kRelu || kind == kRelu6 || kind == kLeakyRelu) && is_only_use(0) &&
                          !before.saves_output && before.op_class != OperatorClass::kSource &&
                          before.op_class != OperatorClass::kView;
  ORRERY_TRY(x.value, emit(kind, node.name, {x.value}, {}, {}, overwrites));
  give(x);
  return {};
}

Status GraphDefTranslator::softmax(const GraphDefNode& node) {
  ORRERY_TRY(Bound x, value_at(0));
  ORRERY_TRY(x.value, emit(kSoftmax, node.name, {x.value}, AxisAttributes{-1}));
  give(x);
  return {};
}

// Two values with broadcasting, in one order of dimensions.
Result<Bound> GraphDefTranslator::combined(OperatorKind kind, Bound a, Bound b) {
  if (a.channels_first != b.channels_first) {
    Bound& other = a.channels_first ? b : a;
    const bool both_images = shape_of(other).rank() == 4;
    ORRERY_TRY(a, both_images ? image(a) : plain(a));
    ORRERY_TRY(b, both_images ? image(b) : plain(b));
  }
  const int rank_a = shape_of(a).rank(), rank_b = shape_of(b).rank(), rank = std::max(rank_a, rank_b);
  Bound result = a.batch.axis >= 0 ? a : b;
  if (result.batch.axis >= 0) result.batch.axis += rank - (a.batch.axis >= 0 ? rank_a : rank_b);
  ORRERY_TRY(result.value, emit(kind, index_.node(current_).name, {a.value, b.value}));
  return result;
}

// A learned tensor, in the order of dimensions of `x`.
Result<Bound> GraphDefTranslator::parameter_like(const Constant& weight, const Bound& x) {
  ORRERY_TRY(const Bound learned, parameter(weight));
  if (!x.channels_first || weight.elements() == 1) return learned;
  if (weight.dims.size() == 4) return image(learned);
  if (weight.dims.size() > 1) return Error::unsupported("a learned tensor that does not fit the channels of an image");
  Bound result;
  ORRERY_TRY(result, reshaped(learned, {weight.elements(), 1, 1}));
  return result;
}

Status GraphDefTranslator::arithmetic(const GraphDefNode& node) {
  if (input_count() != 2) return Error::invalid(fmt::format("expected 2 inputs, got {}", input_count()));
  const OperatorKind kind = arithmetic_kind(node.op);
  const std::size_t constant_input = constant_at(0) != nullptr && constant_at(1) == nullptr ? 0 : 1;
  const Constant* constant = constant_at(constant_input);
  if (constant == nullptr) {
    ORRERY_TRY(const Bound a, any_value_at(0));
    ORRERY_TRY(const Bound b, any_value_at(1));
    ORRERY_TRY(const Bound result, combined(kind, a, b));
    give(result);
    return {};
  }
  const std::size_t value_input = 1 - constant_input;
  ORRERY_TRY(const Bound x, any_value_at(value_input));
  if (constant->learned) {
    const Dims dims = file_dims(x);
    if (kind == kAdd && constant->dims.size() == 1 && !dims.empty() && constant->dims[0] == dims.back()) {
      ORRERY_TRY(const bool merged, merge_bias(value_input, *constant));
      if (merged) return {};
    }
    // Counted where it was used first.
    if (owners_.contains(constant->source)) return scale_by(x);
    ORRERY_TRY(const Bound weight, parameter_like(*constant, x));
    Bound result = x;
    if (shape_of(weight).rank() > shape_of(x).rank()) {
      ORRERY_TRY(result, combined(kind, x, weight));
    } else {
      ORRERY_TRY(result.value, emit(kind, node.name, {x.value, weight.value}));
    }
    give(result);
    return {};
  }
  const auto dims = broadcast_dims(file_dims(x), constant->dims);
  if (dims && *dims == file_dims(x)) return scale_by(x);
  ORRERY_TRY(const Bound a, value_at(0));
  ORRERY_TRY(const Bound b, value_at(1));
  ORRERY_TRY(const Bound result, combined(kind, a, b));
  give(result);
  return {};
}

Status GraphDefTranslator::add_n(const GraphDefNode&) {
  ORRERY_TRY(Bound total, any_value_at(0));
  for (std::size_t i = 1; i < input_count(); ++i) {
    ORRERY_TRY(const Bound next, any_value_at(i));
    ORRERY_TRY(total, combined(kAdd, total, next));
  }
  give(total);
  return {};
}

Status GraphDefTranslator::scale(const GraphDefNode&) {
  ORRERY_TRY(const Bound x, any_value_at(0));
  return scale_by(x);
}

// One pass over `x` with numbers that are not operands here.
Status GraphDefTranslator::scale_by(Bound x) {
  ORRERY_TRY(x.value, emit(kScale, index_.node(current_).name, {x.value}));
  give(x);
  return {};
}

Status GraphDefTranslator::same_shape(const GraphDefNode&) {
  ORRERY_TRY(const Bound x, any_value_at(0));
  return give_other({x}, dims_of(x), type_of(x.value).dtype);
}

Status GraphDefTranslator::broadcast_shape(const GraphDefNode&) {
  const std::vector<Bound> inputs = values();
  if (inputs.empty()) return Error::unsupported("nothing of the data reaches it");
  Dims dims;
  for (const Bound& x : inputs) {
    ORRERY_TRY(dims, broadcast_dims(dims, dims_of(x)));
  }
  for (const Constant* constant : constants()) {
    if (constant == nullptr) continue;
    ORRERY_TRY(dims, broadcast_dims(dims, constant->dims));
  }
  return give_other(inputs, dims, type_of(inputs.back().value).dtype);
}

// x, scale, offset, mean, variance.
Status GraphDefTranslator::batch_norm(const GraphDefNode& node) {
  ORRERY_TRY(Bound x, image_at(node, 0));
  const Constant* scale = constant_at(1);
  const Constant* offset = constant_at(2);
  const bool scaled = scale != nullptr && scale->learned, shifted = offset != nullptr && offset->learned;
  for (const Constant* learned : {scale, offset}) {
    if (learned == nullptr || !learned->learned) continue;
    if (learned->elements() != shape_of(x)[1]) return Error::invalid("scale or offset does not fit the channels");
    if (scaled == shifted) ORRERY_TRY_VOID(own(*learned));
  }
  ORRERY_TRY(x.value, emit(kBatchNorm, node.name, {x.value}, NormAttributes{.affine = scaled && shifted}));
  if (scaled != shifted) {
    ORRERY_TRY(const Bound weight, parameter(scaled ? *scale : *offset));
    ORRERY_TRY(const Bound column, reshaped(weight, {shape_of(x)[1], 1, 1}));
    ORRERY_TRY(x.value, emit(scaled ? kMultiply : kAdd, node.name, {x.value, column.value}));
  }
  give(x);
  return {};
}

Status GraphDefTranslator::mean(const GraphDefNode& node) {
  return reduce(node, kMean);
}
Status GraphDefTranslator::sum(const GraphDefNode& node) {
  return reduce(node, kSum);
}

Status GraphDefTranslator::reduce(const GraphDefNode& node, OperatorKind kind) {
  ORRERY_TRY(Bound x, any_value_at(0));
  ORRERY_TRY(const Dims listed, integers_at(1, "the axes"));
  std::vector<int> axes;
  for (const std::int64_t axis : listed) {
    ORRERY_TRY(const int normal, normal_axis(axis, shape_of(x).rank()));
    axes.push_back(normal);
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  if (axes.empty()) {
    give(x);
    return {};
  }
  const auto reduces = [&](int axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  const bool keep = node.flag("keep_dims");
  // What is left of an image has our order if it is the order of the file as well.
  if (x.channels_first && !keep && !reduces(3) && !(reduces(1) && reduces(2))) {
    ORRERY_TRY(x, plain(x));
  }
  constexpr int kPlace[] = {0, 2, 3, 1};  // of an axis of the file, where channels are first
  if (x.channels_first) {
    for (int& axis : axes) axis = kPlace[axis];
  }
  Bound result = x;
  result.channels_first = x.channels_first && keep;
  if (reduces(x.batch.axis)) result.batch.axis = -1;
  if (!keep && result.batch.axis >= 0) {
    const auto is_before = [&](int axis) { return axis < x.batch.axis; };
    result.batch.axis -= static_cast<int>(std::count_if(axes.begin(), axes.end(), is_before));
  }
  ORRERY_TRY(result.value, emit(kind, node.name, {x.value}, ReduceAttributes{axes, keep}));
  give(result);
  return {};
}

Status GraphDefTranslator::random(const GraphDefNode& node) {
  ORRERY_TRY(const Dims dims, integers_at(0, "the shape"));
  Constant noise;
  noise.dims = dims;
  if (dims.empty() || dims[0] != batch_) {
    give(std::move(noise));
    return {};
  }
  ORRERY_TRY(const Shape shape, Shape::make(dims));
  Bound result;
  result.batch.axis = 0;
  ORRERY_TRY(result.value, emit(kRandom, node.name, {}, SourceAttributes{{shape, DataType::kFloat32}}));
  give(result);
  return {};
}

Status GraphDefTranslator::cross_entropy(const GraphDefNode& node) {
  ORRERY_TRY(const Bound logits, value_at(0));
  ORRERY_TRY_VOID(emit(kCrossEntropy, node.name, {logits.value}));
  has_loss_ = true;
  give_loss();
  return {};
}

// Of a weight it is decay, which is counted with the update.
Status GraphDefTranslator::l2_loss(const GraphDefNode& node) {
  if (constant_at(0) == nullptr) {
    ORRERY_TRY(const Bound x, value_at(0));
    ORRERY_TRY_VOID(emit(kMeanSquaredError, node.name, {x.value}));
    has_loss_ = true;
  }
  give_loss();
  return {};
}

Status GraphDefTranslator::shape(const GraphDefNode& node) {
  for (std::size_t i = 0; i < input_count(); ++i) {
    Dims dims;
    if (const Constant* constant = constant_at(i)) {
      dims = constant->dims;
    } else {
      ORRERY_TRY(const Bound x, any_value_at(i));
      dims = file_dims(x);
    }
    if (node.op == "Rank") {
      give(integer_scalar(static_cast<std::int64_t>(dims.size())));
    } else if (node.op == "Size") {
      give(integer_scalar(count_elements(dims).value_or(0)));
    } else {
      give(integer_vector(std::move(dims)), i);
    }
  }
  return {};
}

// Zeros or ones in the shape of a value.
Status GraphDefTranslator::like(const GraphDefNode&) {
  ORRERY_TRY(const Bound x, any_value_at(0));
  Constant filled;
  filled.dims = file_dims(x);
  filled.dtype = type_of(x.value).dtype;
  give(std::move(filled));
  return {};
}

}  // namespace orrery::workload::import
