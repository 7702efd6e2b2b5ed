#include "predict/driple/grouping.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery::predict {

std::string_view to_string(Grouping grouping) {
  switch (grouping) {
    case Grouping::kNone:
      return "none";
    case Grouping::kUniform:
      return "uniform";
    case Grouping::kProportional:
      return "proportional";
  }
  return "?";
}

std::string_view to_string(GroupRule rule) {
  switch (rule) {
    case GroupRule::kLog10:
      return "log10";
    case GroupRule::kLog2:
      return "log2";
    case GroupRule::kSquareRoot:
      return "sqrt";
    case GroupRule::kShare:
      return "share";
  }
  return "?";
}

std::size_t groups_of(double nodes, const GroupingOptions& options) {
  double groups = options.share * nodes;
  if (options.rule == GroupRule::kLog10) groups = std::log10(nodes);
  if (options.rule == GroupRule::kLog2) groups = std::log2(nodes);
  if (options.rule == GroupRule::kSquareRoot) groups = std::sqrt(nodes);
  return static_cast<std::size_t>(std::max(1.0, std::floor(groups)));
}

std::vector<std::size_t> group_counts(std::span<const std::size_t> nodes, const GroupingOptions& options) {
  std::vector<std::size_t> counts(nodes.begin(), nodes.end());
  if (options.grouping == Grouping::kNone) return counts;
  if (options.grouping == Grouping::kUniform) {
    for (std::size_t& count : counts) count = std::min(count, options.groups);
    return counts;
  }
  std::vector<std::size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return nodes[a] < nodes[b]; });
  const std::size_t batch = std::max<std::size_t>(1, options.batch);
  for (std::size_t begin = 0; begin < order.size(); begin += batch) {
    const std::size_t end = std::min(order.size(), begin + batch);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += static_cast<double>(nodes[order[i]]);
    const std::size_t groups = groups_of(sum / static_cast<double>(end - begin), options);
    for (std::size_t i = begin; i < end; ++i) counts[order[i]] = std::min(groups, nodes[order[i]]);
  }
  return counts;
}

NodeGraph merged(const NodeGraph& graph, const std::vector<std::uint32_t>& groups) {
  NodeGraph result;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (groups[i] >= result.nodes.size()) result.nodes.resize(groups[i] + 1, GraphNode{0, 0, 0});
    GraphNode& group = result.nodes[groups[i]];
    group.tensor_size += graph.nodes[i].tensor_size;
    group.count += graph.nodes[i].count;
    group.type += graph.nodes[i].type;
  }
  for (const auto& [a, b] : graph.edges) result.edges.emplace_back(groups[a], groups[b]);
  result.edges = distinct_edges(std::move(result.edges));
  return result;
}

Result<NodeGraph> grouped(const NodeGraph& graph, std::size_t groups, const GroupingOptions& options) {
  if (groups >= graph.nodes.size()) return graph;
  ORRERY_TRY(const std::vector<std::uint32_t> of_node,
             fluid_communities(graph, {.groups = groups, .seed = options.seed, .sweeps_max = options.sweeps_max}));
  return merged(graph, of_node);
}

}  // namespace orrery::predict
