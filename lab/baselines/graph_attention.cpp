#include "lab/baselines/graph_attention.h"

#include <algorithm>
#include <cmath>

#include "lab/baselines/operator_kinds.h"

namespace orrery::lab {

namespace {

using workload::Phase;

constexpr std::size_t kKinds = kOperatorKinds;
constexpr std::size_t kCosts = 4, kPhases = 3;
constexpr std::size_t kNodeInputs = kKinds + kCosts * kPhases + 3;
constexpr std::size_t kEdgeInputs = 1;
constexpr std::int32_t kHidden = 48, kLayers = 3;
constexpr std::size_t kGraphsPerStep = 8;

float logarithm(double value) {
  return static_cast<float>(std::log1p(std::max(value, 0.0)));
}

// Nodes and edges of one graph as numbers, before they become scores.
struct GraphRows {
  std::vector<float> nodes, edges;
  std::vector<std::int64_t> sources, sinks;
};

GraphRows rows_of(const workload::TrainingRun& run) {
  GraphRows rows;
  const workload::Operators& operators = run.graph.operators();
  rows.nodes.resize(operators.size() * kNodeInputs);
  const auto node_of = [&](workload::OperatorIndex op) {
    return std::span(rows.nodes).subspan(op.place() * kNodeInputs, kNodeInputs);
  };
  for (const workload::PhaseStep& step : run.graph.execution_order()) {
    const workload::OperatorCost cost = workload::operator_cost(run.graph, step, run.cost_options());
    const auto node = node_of(step.op);
    const std::size_t at = kKinds + kCosts * static_cast<std::size_t>(step.phase);
    node[at] = logarithm(cost.flops().value());
    node[at + 1] = logarithm(cost.bytes().value());
    node[at + 2] = logarithm(cost.parameters.value());
    node[at + 3] = static_cast<float>(cost.kernels);
  }
  for (const workload::OperatorIndex at : operators.indices()) {
    const workload::Operator& op = operators[at];
    const auto node = node_of(at);
    node[static_cast<std::size_t>(op.kind)] = 1;
    node[kNodeInputs - 3] = logarithm(static_cast<double>(run.graph.batch()));
    node[kNodeInputs - 2] = static_cast<float>(run.optimizer);
    node[kNodeInputs - 1] = logarithm(static_cast<double>(workload::parameter_elements(op)));
    for (const workload::Value& input : op.inputs) {
      rows.sources.push_back(input.op.value());
      rows.sinks.push_back(at.value());
      rows.edges.push_back(logarithm(workload::tensor_bytes(run.graph.type(input), 4).value()));
    }
  }
  return rows;
}

void add_scores(const std::vector<float>& rows, const StandardScore& scores, std::vector<float>& out) {
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(scores.score(rows[i], i % scores.columns()));
}

void add_graph(const GraphRows& rows, std::int64_t graph, const StandardScore& nodes, const StandardScore& edges,
               NetworkBatch& batch) {
  const auto first = static_cast<std::int64_t>(batch.graphs.size());
  add_scores(rows.nodes, nodes, batch.inputs);
  add_scores(rows.edges, edges, batch.edge_inputs);
  for (const std::int64_t source : rows.sources) batch.sources.push_back(first + source);
  for (const std::int64_t sink : rows.sinks) batch.sinks.push_back(first + sink);
  batch.graphs.insert(batch.graphs.end(), rows.nodes.size() / kNodeInputs, graph);
}

void learn_scores(const std::vector<float>& rows, StandardScore& scores) {
  for (std::size_t at = 0; at < rows.size(); at += scores.columns()) {
    scores.add(std::span(rows).subspan(at, scores.columns()));
  }
}

}  // namespace

Result<GraphAttention> GraphAttention::fit(std::span<const DatasetIteration* const> train, std::uint64_t steps,
                                           std::uint64_t seed) {
  StandardScore nodes(kNodeInputs), edges(kEdgeInputs), times(1);
  std::vector<GraphRows> graphs;
  std::vector<float> targets;
  for (const DatasetIteration* one : train) {
    graphs.push_back(rows_of(one->steps.run));
    targets.push_back(static_cast<float>(std::log(one->steps.iteration)));
    learn_scores(graphs.back().nodes, nodes);
    learn_scores(graphs.back().edges, edges);
    times.add(std::span(targets).last(1));
  }
  for (StandardScore* scores : {&nodes, &edges, &times}) ORRERY_TRY_VOID(scores->settle());
  NetworkOptions options;
  options.structure = Structure::kAttention;
  options.inputs = static_cast<std::int32_t>(kNodeInputs);
  options.edge_inputs = static_cast<std::int32_t>(kEdgeInputs);
  options.layers = kLayers;
  options.hidden = kHidden;
  options.loss = Loss::kMse;
  options.seed = seed;
  ORRERY_TRY(std::unique_ptr<Network> network, make_network(options));
  const FillBatch fill = [&](std::span<const std::uint32_t> examples, NetworkBatch& batch) {
    for (std::size_t i = 0; i < examples.size(); ++i) {
      add_graph(graphs[examples[i]], static_cast<std::int64_t>(i), nodes, edges, batch);
      batch.targets.push_back(times.score(targets[examples[i]], 0));
    }
  };
  const TrainingPlan plan{
      .steps = steps, .batch = kGraphsPerStep, .learning_rate = 2e-3, .schedule = LearningRate::kFalling, .seed = seed};
  ORRERY_TRY_VOID(orrery::predict::train(*network, graphs.size(), fill, plan, {}));
  return GraphAttention(std::move(nodes), std::move(edges), std::move(times), std::move(network));
}

Result<double> GraphAttention::predict(const workload::TrainingRun& run) const {
  NetworkBatch batch;
  add_graph(rows_of(run), 0, nodes_, edges_, batch);
  ORRERY_TRY(const std::vector<float> answers, network_->predict(batch));
  return std::exp(times_.value(answers.front(), 0));
}

}  // namespace orrery::lab
