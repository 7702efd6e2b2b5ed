#include <algorithm>
#include <fmt/format.h>

#include "workload/import/onnx/translator.h"
#include "workload/traits.h"

namespace orrery::workload::import {

using enum OperatorKind;

Status OnnxTranslator::translate_node(std::int32_t index) {
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

bool OnnxTranslator::is_bound_already(const OnnxNode& node) const {
  return node.outputs.size() == 1 && node.outputs[0] != kNoTensor &&
         state(node.outputs[0]).kind != TensorState::Kind::kUnset;
}

Status OnnxTranslator::fold_shape(const OnnxNode& node) {
  const TensorId id = input_id(node, 0);
  if (id == kNoTensor) return Error::invalid("input 0 is missing");
  Constant stand_in;
  if (const Constant* c = constant_of(id)) {
    stand_in.dims = c->dims;
  } else {
    ORRERY_TRY(const OnnxValue x, value_of(id));
    stand_in.dims = dims_of(x);
  }
  const Constant* const inputs[] = {&stand_in};
  ORRERY_TRY(std::vector<Constant> results, fold(node, model_.opset, inputs, kMostNumbers));
  if (!results.empty() && !node.outputs.empty()) bind_constant(node.outputs[0], std::move(results[0]));
  return {};
}

Result<bool> OnnxTranslator::fold_constant(const OnnxNode& node) {
  for (const TensorId id : node.inputs) {
    if (id != kNoTensor && state(id).kind != TensorState::Kind::kConstant) return false;
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
  // Constants without a rule stay unset: an error only if a node needs them.
  return true;
}

const std::unordered_map<std::string_view, OnnxTranslator::Rule>& OnnxTranslator::all_rules() {
  using T = OnnxTranslator;
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

Status OnnxTranslator::control_flow(const OnnxNode& node) {
  return Error::unsupported(fmt::format("control flow ({}) cannot be predicted", node.type));
}

Status OnnxTranslator::translate_fused(const OnnxNode& node, const Fused& fused) {
  ORRERY_TRY(OnnxValue x, value_of(fused.input));
  Attributes attributes;
  NormAttributes norm{.groups = 1,
                      .normalized_rank = fused.normalized_rank,
                      .affine = fused.weight != kNoTensor,
                      .bias = fused.bias != kNoTensor};
  std::string name = name_of(node);
  if (fused.kind == kGroupNorm) {
    ORRERY_TRY(const OnnxValue grouped, value_of(fused.grouped));
    norm.groups = shape_of(grouped).rank() > 1 ? shape_of(grouped)[1] : 1;
  }
  if (fused.kind == kLayerNorm || fused.kind == kRmsNorm || fused.kind == kGroupNorm) attributes = norm;
  ORRERY_TRY(x.value, emit(fused.kind, std::move(name), {x.value}, std::move(attributes)));
  give(node, x);
  return {};
}

}  // namespace orrery::workload::import
