#include "workload/graph.h"

#include <fmt/format.h>
#include <unordered_set>

#include "workload/cost.h"
#include "workload/traits.h"

namespace orrery::workload {

namespace {

constexpr std::size_t kMostOperators = 2'000'000;

bool has_batch_dimension(OperatorKind kind) {
  return kind == OperatorKind::kInput || kind == OperatorKind::kRandom;
}

Status check_references(const Operators& operators, OperatorIndex at) {
  const Operator& op = operators[at];
  for (const Value& input : op.inputs) {
    const bool exists = input.op.valid() && input.op < at && input.output >= 0 &&
                        input.output < static_cast<std::int32_t>(operators[input.op].outputs.size());
    if (!exists) {
      return Error::invalid(fmt::format("operator {}: input {}:{} is not an output of an earlier operator", op.name,
                                        input.op, input.output));
    }
  }
  if (op.tied_to >= at) {
    return Error::invalid(fmt::format("operator {}: tied to operator {}, which is not earlier", op.name, op.tied_to));
  }
  return {};
}

Status check_tie(const Operators& operators, const Operator& op, const Shape& input) {
  if (!op.tied_to.valid()) return {};
  const Operator& owner = operators[op.tied_to];
  const auto* linear = std::get_if<LinearAttributes>(&op.attributes);
  const bool fits = linear != nullptr && !owner.parameters.empty() && owner.parameters[0].shape.rank() == 2 &&
                    owner.parameters[0].shape[0] == linear->out_features && owner.parameters[0].shape[1] == input[-1];
  if (fits) return {};
  return Error::invalid(
      fmt::format("operator {}: its weight does not fit the one of {} it is tied to", op.name, owner.name));
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
  }
  return "forward";
}

std::int64_t parameter_elements(const Operator& op) {
  std::int64_t total = 0;
  for (const Parameter& parameter : op.parameters) total += parameter.shape.elements();
  return total;
}

std::int64_t trained_elements(const Operator& op) {
  return op.frozen ? 0 : parameter_elements(op);
}

bool TrainingGraph::trains_weight(OperatorIndex at) const {
  const Operator& op = operators_[at];
  return trained_elements(op) > 0 || (op.tied_to.valid() && !operators_[op.tied_to].frozen);
}

Result<TrainingGraph> TrainingGraph::make(std::string name, Operators operators) {
  if (operators.empty()) return Error::invalid(fmt::format("graph {} has no operators", name));
  if (operators.size() > kMostOperators) {
    return Error::invalid(
        fmt::format("graph {} has {} operators; the limit is {}", name, operators.size(), kMostOperators));
  }
  TrainingGraph graph;
  graph.name_ = std::move(name);
  std::unordered_set<std::string_view> names;
  std::vector<TensorType> inputs;
  bool has_input = false;
  for (const OperatorIndex at : operators.indices()) {
    Operator& op = operators[at];
    if (!names.insert(op.name).second) return Error::invalid(fmt::format("two operators are named {}", op.name));
    ORRERY_TRY_VOID(check_references(operators, at));
    inputs.clear();
    bool needs_gradient = false;
    bool is_per_sample = has_batch_dimension(op.kind);
    for (const Value& input : op.inputs) {
      inputs.push_back(output_type(operators, input));
      needs_gradient = needs_gradient || graph.needs_gradient_[input.op];
      is_per_sample = is_per_sample || graph.is_per_sample_[input.op];
    }
    ORRERY_TRY_VOID(infer(op, inputs));
    if (!inputs.empty()) ORRERY_TRY_VOID(check_tie(operators, op, inputs[0].shape));
    const std::int64_t parameters = parameter_elements(op);
    if (parameters > kMaxElements - graph.parameter_count_) {
      return Error::invalid(fmt::format("operator {}: the model has more than 2^48 parameters", op.name));
    }
    graph.parameter_count_ += parameters;
    graph.is_per_sample_.push_back(is_per_sample);
    graph.gradient_uses_.push_back(0);
    for (const Value& input : op.inputs) ++graph.gradient_uses_[input.op];
    const bool is_tied = op.tied_to.valid() && !operators[op.tied_to].frozen;
    graph.needs_gradient_.push_back(needs_gradient || trained_elements(op) > 0 || is_tied);
    if (op.kind == OperatorKind::kInput && op.outputs[0].shape.rank() > 0) {
      const std::int64_t batch = op.outputs[0].shape[0];
      if (has_input && batch != graph.batch_) {
        return Error::invalid(
            fmt::format("operator {}: batch {} differs from the {} of the first input", op.name, batch, graph.batch_));
      }
      graph.batch_ = batch;
      has_input = true;
    }
  }
  if (!has_input) return Error::invalid(fmt::format("graph {} has no input", graph.name_));
  graph.operators_ = std::move(operators);
  return graph;
}

std::vector<TensorType> TrainingGraph::input_types(const Operator& op) const {
  std::vector<TensorType> types;
  types.reserve(op.inputs.size());
  for (const Value& input : op.inputs) types.push_back(type(input));
  return types;
}

Result<TrainingGraph> TrainingGraph::with_batch(std::int64_t batch) const {
  if (batch < 1) return Error::invalid(fmt::format("batch {}: expected at least 1", batch));
  if (batch == batch_) return *this;
  Operators operators = operators_;
  for (Operator& op : operators) {
    auto* source = std::get_if<SourceAttributes>(&op.attributes);
    if (source == nullptr || !has_batch_dimension(op.kind) || source->type.shape.rank() == 0) continue;
    auto shape = source->type.shape.with(0, batch);
    if (!shape) return std::move(shape).error().with_context(fmt::format("operator {}: batch {}", op.name, batch));
    source->type.shape = *shape;
  }
  auto graph = make(name_, std::move(operators));
  if (!graph) return std::move(graph).error().with_context(fmt::format("batch {}", batch));
  return graph;
}

double TrainingGraph::macs() const {
  double total = 0;
  for (const Operator& op : operators_) total += forward_macs(*this, op);
  return total;
}

std::vector<PhaseStep> TrainingGraph::execution_order() const {
  std::vector<PhaseStep> steps;
  steps.reserve(operators_.size() * 3);
  for (const OperatorIndex at : operators_.indices()) steps.push_back({at, Phase::kForward});
  for (const OperatorIndex at : operators_.indices().reversed()) {
    if (needs_gradient(at)) steps.push_back({at, Phase::kBackward});
  }
  for (const OperatorIndex at : operators_.indices()) {
    const Operator& op = operators_[at];
    if (!op.parameters.empty() && !op.frozen) steps.push_back({at, Phase::kUpdate});
  }
  return steps;
}

}  // namespace orrery::workload
