// The NodeGraph of our own training graphs; see node_graph.h.

#include "predict/driple/framework_ops.h"
#include "predict/driple/node_graph.h"

namespace orrery::predict {

namespace {

constexpr std::uint32_t kNone = 0xffffffff;

class Builder {
 public:
  Builder(const workload::TrainingRun& run, const OpFrequencies& frequencies, const NodeGraphOptions& options)
      : run_(run), frequencies_(frequencies), options_(options) {}

  BuiltGraph build_forward() {
    const auto operators = run_.graph.operators();
    for (const workload::Operator& op : operators) {
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
    const auto operators = run_.graph.operators();
    backward_.assign(operators.size(), kNone);
    for (std::size_t i = 0; i < operators.size(); ++i) add_forward(operators[i]);
    for (std::size_t i = operators.size(); i-- > 0;) add_backward(static_cast<std::int32_t>(i));
    for (std::size_t i = 0; i < operators.size(); ++i) add_parameters(static_cast<std::int32_t>(i));
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
      const std::uint32_t from = forward_[static_cast<std::size_t>(input.node)];
      if (from != kNone) join(from, forward_.back());
    }
  }

  // Users come behind what they use, so their backward nodes are already there.
  void add_backward(std::int32_t index) {
    if (!run_.graph.needs_gradient(index)) return;
    const workload::Operator& op = run_.graph.node(index);
    const auto place = static_cast<std::size_t>(index);
    const double size = op.inputs.empty() ? size_of(op) : size_of(run_.graph.node(op.inputs.front().node));
    backward_[place] = add(framework_ops(op.kind).backward, size);
    join(forward_[place], backward_[place]);
    for (const std::uint32_t from : pending_[index]) join(from, backward_[place]);
    for (const workload::Value& input : op.inputs) {
      join(forward_[static_cast<std::size_t>(input.node)], backward_[place]);
      pending_[input.node].push_back(backward_[place]);
    }
  }

  void add_parameters(std::int32_t index) {
    const auto place = static_cast<std::size_t>(index);
    for (const workload::Parameter& parameter : run_.graph.node(index).parameters) {
      const auto elements = static_cast<double>(parameter.shape.elements());
      const std::uint32_t variable = add("VariableV2", elements);
      join(variable, forward_[place]);
      if (backward_[place] == kNone) continue;
      const std::uint32_t update = add(update_op(run_.optimizer), elements);
      join(variable, update);
      join(backward_[place], update);
    }
  }

  const workload::TrainingRun& run_;
  const OpFrequencies& frequencies_;
  const NodeGraphOptions& options_;
  BuiltGraph built_;
  std::vector<std::uint32_t> forward_, backward_;
  std::map<std::int32_t, std::vector<std::uint32_t>> pending_;  // gradients that reach an operator
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
