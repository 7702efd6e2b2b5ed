#include "predict/driple/node_graph.h"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace orrery::predict {

Neighbours::Neighbours(const NodeGraph& graph) : ends_(2 * graph.edges.size()), first_(graph.nodes.size() + 1) {
  for (const auto& [a, b] : graph.edges) {
    ++first_[a + 1];
    ++first_[b + 1];
  }
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (const auto& [a, b] : graph.edges) {
    ends_[next[a]++] = b;
    ends_[next[b]++] = a;
  }
}

std::vector<GraphEdge> distinct_edges(std::vector<GraphEdge> edges) {
  for (auto& [a, b] : edges) {
    if (a > b) std::swap(a, b);
  }
  std::erase_if(edges, [](const GraphEdge& edge) { return edge.first == edge.second; });
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

std::uint32_t BuiltGraph::add(std::string_view op, double tensor_size, const OpFrequencies& frequencies,
                              double unknown_share) {
  const std::optional<double> share = frequencies.find(op);
  if (!share) ++unknown_ops[std::string(op)];
  graph.nodes.push_back({tensor_size, 1, share.value_or(unknown_share)});
  ops.emplace_back(op);
  return static_cast<std::uint32_t>(graph.nodes.size() - 1);
}

Result<BuiltGraph> build_node_graph(const workload::GraphDef& graph, const OpFrequencies& frequencies,
                                    const NodeGraphOptions& options) {
  ORRERY_TRY(const workload::GraphDefPart part, workload::largest_part(graph, options.device));
  if (part.nodes.size() < 2) {
    return Error::invalid(
        fmt::format("no two joined nodes are placed on a device with {} in its name", options.device));
  }
  BuiltGraph built;
  std::unordered_map<std::size_t, std::uint32_t> places;
  for (const std::size_t index : part.nodes) {
    const workload::GraphDefNode& node = graph.nodes[index];
    places.emplace(index, built.add(node.op, workload::tensor_size(node), frequencies, options.unknown_share));
  }
  for (const auto& [a, b] : part.edges) built.graph.edges.emplace_back(places.at(a), places.at(b));
  return built;
}

}  // namespace orrery::predict
