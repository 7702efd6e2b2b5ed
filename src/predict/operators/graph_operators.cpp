#include "predict/operators/graph_operators.h"

namespace orrery::predict {

using workload::Operator;
using workload::OperatorKind;
using workload::Phase;
using workload::TrainingGraph;

namespace {

using Works = std::vector<GraphWork>;

double product_of(std::span<const std::int64_t> dims) {
  double product = 1;
  for (const std::int64_t dim : dims) product *= static_cast<double>(dim);
  return product;
}

GraphWork linear(double m, double n, double k) {
  return {OperatorClass::kLinear, {"linear", 1, m, n, k}};
}

GraphWork batched(double b, double m, double n, double k) {
  return {OperatorClass::kBatchedProduct, {"bmm", b, m, n, k}};
}

// `length`: of a row.
GraphWork pass(OperatorClass operator_class, const char* name, double elements, double length) {
  return {operator_class, {name, elements / length, length, 1, 1}};
}

// One pass over the elements of the output, in rows as it has them.
GraphWork elementwise(const char* name, const Operator& op) {
  const auto dims = op.outputs[0].shape.dims();
  const double length = dims.empty() ? 1 : static_cast<double>(dims.back());
  return pass(OperatorClass::kElementwise, name, product_of(dims), length);
}

Works linear_work(const TrainingGraph& graph, workload::OperatorIndex at, Phase phase) {
  const Operator& op = graph[at];
  const auto in = graph.type(op.inputs[0]).shape.dims();
  const auto features = static_cast<double>(in.back());
  const double rows = product_of(in) / features;
  const double outputs = product_of(op.outputs[0].shape.dims()) / rows;
  if (phase == Phase::kForward) return {linear(rows, features, outputs)};
  Works works;
  if (graph.trains_weight(at)) works.push_back(linear(outputs, rows, features));
  if (graph.needs_gradient(op.inputs[0].op)) works.push_back(linear(rows, outputs, features));
  return works;
}

Works matmul_work(const TrainingGraph& graph, const Operator& op, Phase phase) {
  const auto left = graph.type(op.inputs[0]).shape.dims();
  const auto out = op.outputs[0].shape.dims();
  if (left.size() < 2 || out.size() < 2) return {};
  const auto m = static_cast<double>(out[out.size() - 2]), k = static_cast<double>(out.back());
  const auto n = static_cast<double>(left.back());
  const double b = product_of(out) / (m * k);
  if (phase == Phase::kForward) return {batched(b, m, n, k)};
  Works works;
  if (graph.needs_gradient(op.inputs[0].op)) works.push_back(batched(b, m, k, n));
  if (graph.needs_gradient(op.inputs[1].op)) works.push_back(batched(b, n, m, k));
  return works;
}

Works attention_work(const TrainingGraph& graph, const Operator& op, Phase phase) {
  const auto q = graph.type(op.inputs[0]).shape.dims();
  const auto k = graph.type(op.inputs[1]).shape.dims();
  if (q.size() != 4 || k.size() != 4) return {};
  const double b = product_of(q.first(2));
  const auto asked = static_cast<double>(q[2]), size = static_cast<double>(q[3]), kept = static_cast<double>(k[2]);
  const double scores = b * asked * kept;
  const GraphWork scale = pass(OperatorClass::kElementwise, "mulu", scores, kept);
  if (phase == Phase::kForward) {
    Works works = {batched(b, asked, size, kept), scale, pass(OperatorClass::kSoftmax, "softmax", scores, kept),
                   batched(b, asked, kept, size)};
    const auto* attributes = std::get_if<workload::AttentionAttributes>(&op.attributes);
    if (attributes != nullptr && attributes->causal) {
      works.push_back(pass(OperatorClass::kElementwise, "add", scores, kept));
    }
    return works;
  }
  return {batched(b, asked, size, kept),
          batched(b, kept, asked, size),
          pass(OperatorClass::kElementwise, "mul", scores, kept),
          scale,
          batched(b, asked, kept, size),
          batched(b, kept, asked, size)};
}

double normalised_length(const Operator& op) {
  const auto dims = op.outputs[0].shape.dims();
  const auto* norm = std::get_if<workload::NormAttributes>(&op.attributes);
  const std::size_t rank = norm == nullptr ? 1 : static_cast<std::size_t>(norm->normalized_rank);
  return product_of(dims.last(std::min(rank, dims.size())));
}

// Backward of most passes reads the gradient and a kept tensor and writes one.
Works pass_work(const char* forward, const Operator& op, Phase phase) {
  return {elementwise(phase == Phase::kForward ? forward : "mul", op)};
}

bool is_softmax_of_rows(const Operator& op) {
  const auto* axis = std::get_if<workload::AxisAttributes>(&op.attributes);
  return axis != nullptr && (axis->axis == -1 || axis->axis + 1 == op.outputs[0].shape.rank());
}

}  // namespace

Works known_operators(const TrainingGraph& graph, const workload::PhaseStep& step) {
  const Operator& op = graph[step.op];
  const Phase phase = step.phase;
  if (phase == Phase::kUpdate || op.outputs.empty() || op.outputs[0].shape.elements() == 0) return {};
  const bool is_forward = phase == Phase::kForward;
  switch (op.kind) {
    case OperatorKind::kLinear:
      return linear_work(graph, step.op, phase);
    case OperatorKind::kMatmul:
      return matmul_work(graph, op, phase);
    case OperatorKind::kAttention:
      return attention_work(graph, op, phase);
    case OperatorKind::kSoftmax:
      if (!is_softmax_of_rows(op)) return {};
      if (!is_forward) return {elementwise("mul", op)};
      return {pass(OperatorClass::kSoftmax, "softmax", product_of(op.outputs[0].shape.dims()), normalised_length(op))};
    case OperatorKind::kLayerNorm:
    case OperatorKind::kRmsNorm:
      if (!is_forward) return {elementwise("mul", op)};
      return {pass(OperatorClass::kLayerNorm, "ln", product_of(op.outputs[0].shape.dims()), normalised_length(op))};
    case OperatorKind::kGelu:
      return pass_work("gelu", op, phase);
    case OperatorKind::kTanh:
    case OperatorKind::kSigmoid:
    case OperatorKind::kSilu:
      return pass_work("tanh", op, phase);
    case OperatorKind::kRelu:
      return pass_work("relu", op, phase);
    case OperatorKind::kDropout:
    case OperatorKind::kMultiply:
      return pass_work("mul", op, phase);
    case OperatorKind::kDivide:
      return pass_work("div", op, phase);
    case OperatorKind::kScale:
      return {elementwise("mulu", op)};
    case OperatorKind::kAdd:
    case OperatorKind::kSubtract:
      if (!is_forward) return {};  // hands the gradient on
      return {elementwise("add", op)};
    default:
      return {};
  }
}

}  // namespace orrery::predict
