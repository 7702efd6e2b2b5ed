// The NodeGraph of our own training graphs; see node_graph.h.

#include "predict/driple/framework_ops.h"
#include "predict/driple/node_graph.h"

namespace orrery::predict {

using workload::OperatorIndex;

namespace {

constexpr std::uint32_t kNone = 0xffffffff;

class Builder {
 public:
  Builder(const workload::TrainingRun& run, const OpFrequencies& frequencies, const NodeGraphOptions& options)
      : run_(run), frequencies_(frequencies), options_(options) {}

  BuiltGraph build_forward() {
    for (const workload::Operator& op : run_.graph.operators()) {
      if (is_loss(op.kind)) {
        forward_.push_back(kNone);
        continue;
      }
      add_forward(op);
      for (const workload::Parameter& parameter : op.parameters) {
        join(add("VariableV2", static_cast<double>(parameter.shape.elements())), forward_.back());
      }
    }
    built_.graph.edges = distinct_edges(std::move(built_.graph.edges));
    return std::move(built_);
  }

  BuiltGraph build() {
    const workload::Operators& operators = run_.graph.operators();
    backward_.assign(operators.size(), kNone);
    pending_.resize(operators.size());
    for (const workload::Operator& op : operators) add_forward(op);
    for (const OperatorIndex at : operators.indices().reversed()) add_backward(at);
    for (const OperatorIndex at : operators.indices()) add_parameters(at);
    built_.graph.edges = distinct_edges(std::move(built_.graph.edges));
    return std::move(built_);
  }

 private:
  static bool is_loss(workload::OperatorKind kind) {
    using enum workload::OperatorKind;
    return kind == kCrossEntropy || kind == kMeanSquaredError || kind == kBinaryCrossEntropy;
  }

  std::uint32_t add(std::string_view op, double size) {
    return built_.add(op, size, frequencies_, options_.unknown_share);
  }
  void join(std::uint32_t a, std::uint32_t b) { built_.graph.edges.emplace_back(a, b); }
  double size_of(const workload::Operator& op) const {
    return op.outputs.empty() ? 0 : static_cast<double>(op.outputs.front().shape.elements());
  }

  void add_forward(const workload::Operator& op) {
    // Operators of files that we have no rules for keep their own name.
    const auto* other = std::get_if<workload::OtherAttributes>(&op.attributes);
    forward_.push_back(add(other != nullptr ? other->type : framework_ops(op.kind).forward, size_of(op)));
    for (const workload::Value& input : op.inputs) {
      const std::uint32_t from = forward_[input.op];
      if (from != kNone) join(from, forward_.back());
    }
  }

  // Users come behind what they use, so their backward nodes are already there.
  void add_backward(OperatorIndex at) {
    if (!run_.graph.needs_gradient(at)) return;
    const workload::Operator& op = run_.graph[at];
    const double size = op.inputs.empty() ? size_of(op) : size_of(run_.graph[op.inputs.front().op]);
    backward_[at] = add(framework_ops(op.kind).backward, size);
    join(forward_[at], backward_[at]);
    for (const std::uint32_t from : pending_[at]) join(from, backward_[at]);
    for (const workload::Value& input : op.inputs) {
      join(forward_[input.op], backward_[at]);
      pending_[input.op].push_back(backward_[at]);
    }
  }

  void add_parameters(OperatorIndex at) {
    for (const workload::Parameter& parameter : run_.graph[at].parameters) {
      const auto elements = static_cast<double>(parameter.shape.elements());
      const std::uint32_t variable = add("VariableV2", elements);
      join(variable, forward_[at]);
      if (backward_[at] == kNone) continue;
      const std::uint32_t update = add(update_op(run_.optimizer), elements);
      join(variable, update);
      join(backward_[at], update);
    }
  }

  const workload::TrainingRun& run_;
  const OpFrequencies& frequencies_;
  const NodeGraphOptions& options_;
  BuiltGraph built_;
  workload::ByOperator<std::uint32_t> forward_, backward_;
  workload::ByOperator<std::vector<std::uint32_t>> pending_;  // gradients that reach an operator
};

}  // namespace

BuiltGraph build_node_graph(const workload::TrainingRun& run, const OpFrequencies& frequencies,
                            const NodeGraphOptions& options) {
  return Builder(run, frequencies, options).build();
}

BuiltGraph build_forward_graph(const workload::TrainingRun& run, const OpFrequencies& frequencies,
                               const NodeGraphOptions& options) {
  return Builder(run, frequencies, options).build_forward();
}

}  // namespace orrery::predict
