#include "predict/driple/resource_network.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "predict/neural/inspector_form.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kGraphsAtOnce = 64;  // of a prediction

std::array<float, kResourceNodeInputs> features_of(const GraphNode& node) {
  return {log_size(node.tensor_size), log_size(node.count), static_cast<float>(node.type)};
}

Result<std::vector<double>> largest_of(std::span<const ResourceExample* const> examples) {
  if (examples.empty() || examples.front()->used.empty()) return Error::invalid("no runs to learn from");
  std::vector<double> largest(examples.front()->used.size(), 0.0);
  for (const ResourceExample* example : examples) {
    if (example->used.size() != largest.size()) return Error::invalid("runs with different numbers of metrics");
    for (std::size_t i = 0; i < largest.size(); ++i) {
      if (!std::isfinite(example->used[i])) return Error::invalid("a metric is not finite");
      largest[i] = std::max(largest[i], example->used[i]);
    }
  }
  for (double& one : largest) one = one > 0 ? one : 1;
  return largest;
}

NetworkOptions network_options(const ResourceNetworkOptions& options, std::size_t outputs, Transfer transfer) {
  NetworkOptions network;
  network.structure = Structure::kInspector;
  network.inputs = kResourceNodeInputs;
  network.outputs = static_cast<std::int32_t>(outputs);
  network.layers = options.depth_max;
  network.hidden = options.hidden;
  network.length = options.readout_steps;
  network.loss = Loss::kMse;
  network.weight_decay = 1e-6;
  network.graph_layer = options.graph_layer;
  network.readout = options.readout;
  network.transfer = transfer;
  network.gradient_max = options.gradient_max;
  network.seed = options.seed;
  network.threads = options.threads;
  return network;
}

}  // namespace

std::string_view to_string(DepthRule rule) {
  switch (rule) {
    case DepthRule::kHalf:
      return "half";
    case DepthRule::kLog2:
      return "log2";
    case DepthRule::kNodes:
      return "nodes";
  }
  return "?";
}

std::int64_t depth_of(std::size_t nodes, DepthRule rule) {
  auto depth = static_cast<std::int64_t>(nodes);
  if (rule == DepthRule::kHalf) depth /= 2;
  if (rule == DepthRule::kLog2)
    depth = static_cast<std::int64_t>(std::log2(static_cast<double>(std::max<std::size_t>(1, nodes))));
  return std::max<std::int64_t>(1, depth);
}

Result<NetworkState> transferred_state(const NetworkOptions& from, const NetworkState& state,
                                       const NetworkOptions& to) {
  std::map<std::string, std::pair<std::size_t, std::int64_t>> places;  // of the numbers of each name
  std::size_t at = 0;
  for (const InspectorParameter& one : inspector_parameters(from)) {
    places[one.name] = {at, one.count()};
    at += static_cast<std::size_t>(one.count());
  }
  if (at != state.parameters.size()) return Error::invalid("the parameters do not fit the network they are from");
  NetworkState result;
  for (const InspectorParameter& one : inspector_parameters(to)) {
    auto found = places.find(one.name);
    if (found == places.end() && one.name.starts_with("copy.")) found = places.find("further." + one.name.substr(5));
    if (found == places.end() || found->second.second != one.count()) {
      return Error::invalid(fmt::format("the network to go on from has no {} of that size", one.name));
    }
    const auto begin = state.parameters.begin() + static_cast<std::ptrdiff_t>(found->second.first);
    result.parameters.insert(result.parameters.end(), begin, begin + one.count());
  }
  result.first_moments.assign(result.parameters.size(), 0.0F);
  result.second_moments.assign(result.parameters.size(), 0.0F);
  return result;
}

Result<std::vector<NodeGraph>> ResourceNetwork::graphs_of(std::span<const ResourceExample* const> examples) const {
  std::vector<std::size_t> sizes;
  for (const ResourceExample* example : examples) sizes.push_back(example->graph.graph.nodes.size());
  const std::vector<std::size_t> counts = group_counts(sizes, options_.grouping);
  std::vector<NodeGraph> graphs;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    ORRERY_TRY(graphs.emplace_back(), grouped(examples[i]->graph.graph, counts[i], options_.grouping));
    if (graphs.back().nodes.empty()) return Error::invalid("a graph without nodes");
  }
  return graphs;
}

void ResourceNetwork::add(const NodeGraph& graph, NetworkBatch& batch) const {
  const auto first = static_cast<std::int64_t>(batch.graphs.size());
  const auto number = static_cast<std::int64_t>(batch.depths.size());
  for (const GraphNode& node : graph.nodes) {
    std::array<float, kResourceNodeInputs> row = features_of(node);
    features_.to_scores(row);
    batch.inputs.insert(batch.inputs.end(), row.begin(), row.end());
    batch.graphs.push_back(number);
  }
  for (const auto& [a, b] : graph.edges) {
    batch.sources.push_back(first + a);
    batch.sinks.push_back(first + b);
  }
  batch.depths.push_back(std::min<std::int64_t>(options_.depth_max, depth_of(graph.nodes.size(), options_.depth)));
}

Result<std::vector<float>> ResourceNetwork::shares(const std::vector<NodeGraph>& graphs) const {
  std::vector<float> all;
  for (std::size_t begin = 0; begin < graphs.size(); begin += kGraphsAtOnce) {
    NetworkBatch batch;
    for (std::size_t i = begin; i < std::min(graphs.size(), begin + kGraphsAtOnce); ++i) add(graphs[i], batch);
    ORRERY_TRY(const std::vector<float> some, network_->predict(batch));
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

Status ResourceNetwork::learn(std::span<const ResourceExample* const> train,
                              std::span<const ResourceExample* const> validation, const TrainingWatch& watch) {
  for (const InspectorParameter& one : inspector_parameters(network_->options())) {
    (one.is_trainable ? report_.trained : report_.frozen) += one.count();
  }
  ORRERY_TRY(const std::vector<NodeGraph> graphs, graphs_of(train));
  ORRERY_TRY(const std::vector<NodeGraph> checked, graphs_of(validation));
  const auto share = [&](const ResourceExample& example, std::size_t metric) {
    return static_cast<float>(example.used[metric] / largest_[metric]);
  };
  const FillBatch fill = [&](std::span<const std::uint32_t> examples, NetworkBatch& batch) {
    for (const std::uint32_t i : examples) {
      add(graphs[i], batch);
      for (std::size_t metric = 0; metric < largest_.size(); ++metric)
        batch.targets.push_back(share(*train[i], metric));
    }
  };
  const auto error = [&]() -> Result<double> {
    ORRERY_TRY(const std::vector<float> found, shares(checked));
    double squares = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double off = found[i] - share(*validation[i / largest_.size()], i % largest_.size());
      squares += off * off / static_cast<double>(found.size());
    }
    return squares;
  };
  const ValidatedPlan plan{.plan = {.steps = options_.steps,
                                    .batch = options_.batch,
                                    .learning_rate = options_.learning_rate,
                                    .warm_up = options_.warm_up,
                                    .seed = options_.seed},
                           .patience = options_.patience,
                           .check_every = options_.check_every};
  ORRERY_TRY(report_.outcome, train_validated(*network_, graphs.size(), fill, plan,
                                              checked.empty() ? std::function<Result<double>()>() : error, watch));
  return {};
}

Result<ResourceNetwork> ResourceNetwork::fit(std::span<const ResourceExample* const> train,
                                             std::span<const ResourceExample* const> validation,
                                             const ResourceNetworkOptions& options, const TrainingWatch& watch) {
  ORRERY_TRY(std::vector<double> largest, largest_of(train));
  ResourceNetwork model(options, StandardScore(kResourceNodeInputs), std::move(largest));
  ORRERY_TRY(const std::vector<NodeGraph> graphs, model.graphs_of(train));
  for (const NodeGraph& graph : graphs) {
    for (const GraphNode& node : graph.nodes) model.features_.add(features_of(node));
  }
  ORRERY_TRY_VOID(model.features_.settle());
  ORRERY_TRY(model.network_, make_network(network_options(options, model.largest_.size(), Transfer::kNone)));
  ORRERY_TRY_VOID(model.learn(train, validation, watch));
  return model;
}

Result<ResourceNetwork> ResourceNetwork::transferred(std::span<const ResourceExample* const> train,
                                                     std::span<const ResourceExample* const> validation,
                                                     Transfer transfer, const ResourceNetworkOptions& options,
                                                     const TrainingWatch& watch) const {
  ResourceNetworkOptions all = options_;
  all.steps = options.steps;
  all.batch = options.batch;
  all.learning_rate = options.learning_rate;
  all.gradient_max = options.gradient_max;
  all.patience = options.patience;
  all.warm_up = options.warm_up;
  all.check_every = options.check_every;
  all.seed = options.seed;
  all.threads = options.threads;
  ORRERY_TRY(std::vector<double> largest, largest_of(train));
  ResourceNetwork model(all, features_, std::move(largest));
  const NetworkOptions form = network_options(all, model.largest_.size(), transfer);
  ORRERY_TRY(const NetworkState state, transferred_state(network_->options(), network_->state(), form));
  ORRERY_TRY(model.network_, make_network(form));
  ORRERY_TRY_VOID(model.network_->set_state(state));
  ORRERY_TRY_VOID(model.learn(train, validation, watch));
  return model;
}

Result<std::vector<std::vector<double>>> ResourceNetwork::predict(
    std::span<const ResourceExample* const> examples) const {
  ORRERY_TRY(const std::vector<NodeGraph> graphs, graphs_of(examples));
  ORRERY_TRY(const std::vector<float> found, shares(graphs));
  std::vector<std::vector<double>> metrics(examples.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t metric = i % largest_.size();
    metrics[i / largest_.size()].push_back(std::max(0.0, static_cast<double>(found[i]) * largest_[metric]));
  }
  return metrics;
}

}  // namespace orrery::predict
