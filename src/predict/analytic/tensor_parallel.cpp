#include "predict/analytic/tensor_parallel.h"

#include <set>

#include "workload/traits.h"

namespace orrery::predict {

using workload::Operator;
using workload::OperatorIndex;
using workload::OperatorKind;
using workload::TrainingGraph;
using workload::Value;

namespace {

bool is_weighted_product(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kConv2d:
    case OperatorKind::kConvTranspose2d:
    case OperatorKind::kLinear:
    case OperatorKind::kEmbedding:
    case OperatorKind::kEmbeddingBag:
    case OperatorKind::kRnn:
    case OperatorKind::kLstm:
    case OperatorKind::kGru:
      return true;
    default:
      return false;
  }
}

// The size that would be cut when the operator is split by outputs.
std::int64_t output_features(const Operator& op) {
  const bool by_channel = op.kind == OperatorKind::kConv2d || op.kind == OperatorKind::kConvTranspose2d;
  return by_channel ? op.outputs[0].shape[1] : op.outputs[0].shape[-1];
}

bool needs_whole_input(OperatorKind kind) {
  return kind == OperatorKind::kLayerNorm || kind == OperatorKind::kRmsNorm || kind == OperatorKind::kGroupNorm ||
         kind == OperatorKind::kMean || kind == OperatorKind::kSum;
}

double elements(const TrainingGraph& graph, Value value) {
  return static_cast<double>(graph.type(value).shape.elements());
}

}  // namespace

TensorSplit split_tensors(const TrainingGraph& graph, int degree) {
  const std::size_t count = graph.operators().size();
  TensorSplit split;
  split.work.assign(count, 1);
  split.parameters.assign(count, 1);
  split.output.assign(count, 1);
  split.forward_all_reduce.assign(count, 0);
  split.forward_all_gather.assign(count, 0);
  split.backward_all_reduce.assign(count, 0);
  if (degree <= 1) return split;

  const double share = 1.0 / degree;
  workload::ByOperator<bool> is_split(count, false);
  std::set<Value> reduced_gradients;  // several products of one input (query, key, value) share one all-reduce
  for (const OperatorIndex at : graph.operators().indices()) {
    const Operator& op = graph[at];
    if (op.inputs.empty()) continue;
    int split_inputs = 0;
    for (const Value& input : op.inputs) split_inputs += is_split[input.op] ? 1 : 0;

    if (is_weighted_product(op)) {
      const bool by_inputs = is_split[op.inputs[0].op];
      if (!by_inputs && output_features(op) % degree != 0) continue;
      split.work[at] = split.parameters[at] = share;
      if (by_inputs) {
        split.forward_all_reduce[at] = elements(graph, {at, 0});
        continue;
      }
      is_split[at] = true;
      split.output[at] = share;
      const bool has_gradient = graph.needs_gradient(op.inputs[0].op);
      if (has_gradient && reduced_gradients.insert(op.inputs[0]).second) {
        split.backward_all_reduce[at] = elements(graph, op.inputs[0]);
      }
      continue;
    }
    if (split_inputs == 0) continue;
    const bool all_split = split_inputs == static_cast<int>(op.inputs.size());
    if (needs_whole_input(op.kind) || !all_split) {
      for (const Value& input : op.inputs) {
        if (is_split[input.op]) split.forward_all_gather[at] += elements(graph, input);
      }
      continue;
    }
    is_split[at] = true;
    split.work[at] = split.output[at] = split.parameters[at] = share;
  }
  return split;
}

}  // namespace orrery::predict
