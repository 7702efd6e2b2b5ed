#include "workload/import/graphdef/index.h"

#include <fmt/format.h>
#include <functional>
#include <queue>

#include "base/text.h"

namespace orrery::workload {

std::string describe(const GraphDefNode& node) {
  constexpr std::size_t kLongest = 200;
  return fmt::format("node {} ({})", quote(node.name, kLongest), is_printable(node.op) ? node.op : quote(node.op));
}

Result<GraphDefIndex> GraphDefIndex::make(const GraphDef& graph) {
  GraphDefIndex index;
  index.graph_ = &graph;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const bool is_new = index.by_name_.emplace(graph.nodes[i].name, static_cast<std::int32_t>(i)).second;
    if (!is_new) return Error::invalid(fmt::format("two nodes are named {}", quote(graph.nodes[i].name)));
  }
  index.first_edge_.push_back(0);
  for (const GraphDefNode& node : graph.nodes) {
    for (const std::string& input : node.inputs) {
      const GraphDefInput parsed = parse_input(input);
      if (!parsed.control) index.edges_.push_back({index.find(parsed.node), parsed.output});
    }
    index.first_edge_.push_back(index.edges_.size());
  }
  return index;
}

std::span<const GraphDefEdge> GraphDefIndex::inputs(std::int32_t index) const {
  const auto at = static_cast<std::size_t>(index);
  return std::span(edges_).subspan(first_edge_[at], first_edge_[at + 1] - first_edge_[at]);
}

std::int32_t GraphDefIndex::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

Result<std::vector<std::int32_t>> GraphDefIndex::sorted(const std::vector<bool>& wanted) const {
  std::vector<int> missing(size(), 0);
  std::vector<std::vector<std::int32_t>> users(size());
  std::size_t total = 0;
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(size()); ++i) {
    if (!wanted[static_cast<std::size_t>(i)]) continue;
    ++total;
    for (const GraphDefEdge& edge : inputs(i)) {
      if (edge.node < 0) {
        return Error::invalid(describe(node(i)) + ": an input is made by no node");
      }
      if (!wanted[static_cast<std::size_t>(edge.node)]) continue;
      users[static_cast<std::size_t>(edge.node)].push_back(i);
      ++missing[static_cast<std::size_t>(i)];
    }
    if (missing[static_cast<std::size_t>(i)] == 0) ready.push(i);
  }
  std::vector<std::int32_t> order;
  while (!ready.empty()) {
    const std::int32_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::int32_t user : users[static_cast<std::size_t>(next)]) {
      if (--missing[static_cast<std::size_t>(user)] == 0) ready.push(user);
    }
  }
  if (order.size() == total) return order;
  for (std::size_t i = 0; i < size(); ++i) {
    if (missing[i] == 0) continue;
    return Error::invalid(describe(graph_->nodes[i]) + " is in a cycle or behind one");
  }
  return Error::internal("a cycle without a node");
}

}  // namespace orrery::workload
