#include <algorithm>
#include <fmt/format.h>

#include "workload/import/onnx/translator.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

Status OnnxTranslator::batch_norm(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
  const Constant* scale = constant_at(node, 1);
  if (scale != nullptr && shape_of(x).rank() > 1 && scale->elements() != shape_of(x)[1]) {
    return Error::invalid(fmt::format("scale has {} numbers, but the input {} has {} channels", scale->elements(),
                                      shape_of(x).to_string(), shape_of(x)[1]));
  }
  ORRERY_TRY(x.value, emit(kBatchNorm, name_of(node), {x.value}, NormAttributes{}));
  give(node, x);
  return {};
}

Status OnnxTranslator::instance_norm(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
  if (shape_of(x).rank() < 2) return Error::invalid("expected [batch, channels, …], got " + shape_of(x).to_string());
  const Constant* scale = constant_at(node, 1);
  const NormAttributes attributes{.groups = shape_of(x)[1], .affine = scale != nullptr && scale->learned};
  ORRERY_TRY(x.value, emit(kGroupNorm, name_of(node), {x.value}, attributes));
  give(node, x);
  return {};
}

Status OnnxTranslator::layer_norm(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
  const int rank = shape_of(x).rank();
  ORRERY_TRY(const int axis, normal_axis(node.integer("axis", -1), rank));
  const NormAttributes attributes{
      .normalized_rank = rank - axis, .affine = input_id(node, 1) != kNoTensor, .bias = input_id(node, 2) != kNoTensor};
  ORRERY_TRY(x.value, emit(kLayerNorm, name_of(node), {x.value}, attributes));
  give(node, x);
  return {};
}

bool OnnxTranslator::can_overwrite(const OnnxNode& node, const OnnxValue& x) const {
  const Operator& producer = operators_[x.value.op];
  const OperatorTraits& row = traits(producer.kind);
  return uses_.only_user(node.inputs[0]) >= 0 && !row.saves_output && row.op_class != OperatorClass::kSource &&
         row.op_class != OperatorClass::kView;
}

Status OnnxTranslator::activation(const OnnxNode& node) {
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

Status OnnxTranslator::emit_activation(const OnnxNode& node, OperatorKind kind) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
  const bool overwrites = (kind == kRelu || kind == kRelu6 || kind == kLeakyRelu) && can_overwrite(node, x);
  ORRERY_TRY(x.value, emit(kind, name_of(node), {x.value}, {}, {}, overwrites));
  give(node, x);
  return {};
}

Status OnnxTranslator::clip(const OnnxNode& node) {
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

Status OnnxTranslator::softmax(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue x, value_at(node, 0));
  ORRERY_TRY(const int axis, normal_axis(node.integer("axis", model_.opset < 13 ? 1 : -1), shape_of(x).rank()));
  ORRERY_TRY(x.value, emit(kSoftmax, name_of(node), {x.value}, AxisAttributes{axis}));
  give(node, x);
  return {};
}

OnnxValue OnnxTranslator::broadcast_batch(const OnnxValue& a, const OnnxValue& b) const {
  const int rank_a = shape_of(a).rank(), rank_b = shape_of(b).rank();
  const bool from_a = a.batch_axis >= 0;
  OnnxValue result = from_a ? a : b;
  if (result.batch_axis >= 0) result.batch_axis += std::max(rank_a, rank_b) - (from_a ? rank_a : rank_b);
  return result;
}

Result<OnnxValue> OnnxTranslator::combined(const OnnxNode& node, OperatorKind kind, const OnnxValue& x, TensorId id,
                                           bool swap) {
  const Constant* c = constant_of(id);
  if (c != nullptr) {
    const auto shape = broadcast_dims(dims_of(x), c->dims);
    const bool keeps_shape = shape && *shape == dims_of(x);
    if (keeps_shape && (!c->learned || c->elements() == 1)) {
      OnnxValue result = x;
      ORRERY_TRY(result.value, emit(kScale, "scale", {x.value}, {}));
      return result;
    }
  }
  ORRERY_TRY(const OnnxValue y, value_of(id));
  OnnxValue result = broadcast_batch(x, y);
  const std::vector<Value> inputs = swap ? std::vector<Value>{y.value, x.value} : std::vector<Value>{x.value, y.value};
  const bool named = c == nullptr;
  ORRERY_TRY(result.value, emit(kind, named ? name_of(node) : std::string(to_string(kind)), inputs, {}));
  return result;
}

Status OnnxTranslator::arithmetic(const OnnxNode& node) {
  if (node.inputs.size() != 2) return Error::invalid("expected two inputs");
  const OperatorKind kind = node.type == "Add"   ? kAdd
                            : node.type == "Sub" ? kSubtract
                            : node.type == "Mul" ? kMultiply
                                                 : kDivide;
  const bool swap = constant_at(node, 0) != nullptr;
  ORRERY_TRY(const OnnxValue x, value_at(node, swap ? 1 : 0));
  ORRERY_TRY(const OnnxValue result, combined(node, kind, x, node.inputs[swap ? 0 : 1], swap));
  give(node, result);
  return {};
}

Status OnnxTranslator::sum_of_many(const OnnxNode& node) {
  ORRERY_TRY(OnnxValue total, value_at(node, 0));
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    ORRERY_TRY(total, combined(node, kAdd, total, node.inputs[i]));
  }
  give(node, total);
  return {};
}

Status OnnxTranslator::same_shape(const OnnxNode& node) {
  ORRERY_TRY(const OnnxValue x, value_at(node, 0));
  std::vector<OnnxValue> values = values_of(node);
  if (values.empty()) values.push_back(x);
  ORRERY_TRY(const OnnxValue result, other(node, values, dims_of(x), type_of(x.value).dtype, parameters_of(node)));
  give(node, result);
  return {};
}

Status OnnxTranslator::broadcast_shape(const OnnxNode& node) {
  Dims dims;
  for (const TensorId id : node.inputs) {
    if (id == kNoTensor) return Error::invalid("an input is missing");
    const Constant* c = constant_of(id);
    if (c != nullptr) {
      ORRERY_TRY(dims, broadcast_dims(dims, c->dims));
    } else {
      ORRERY_TRY(const OnnxValue x, value_of(id));
      ORRERY_TRY(dims, broadcast_dims(dims, dims_of(x)));
    }
  }
  const std::vector<OnnxValue> values = values_of(node);
  if (values.empty()) return Error::unsupported("nothing of the data reaches it");
  const bool is_test = node.type == "Equal" || node.type == "Not" || node.type.starts_with("Greater") ||
                       node.type.starts_with("Less") || node.type == "And" || node.type == "Or" || node.type == "Xor";
  const DataType dtype = is_test ? DataType::kBool : type_of(values.back().value).dtype;
  ORRERY_TRY(const OnnxValue result, other(node, values, dims, dtype, parameters_of(node)));
  give(node, result);
  return {};
}

}  // namespace orrery::workload::import
