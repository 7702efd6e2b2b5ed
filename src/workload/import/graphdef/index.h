#pragma once
// A GraphDef with its inputs resolved: nodes by number instead of by name.

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "workload/import/graphdef/graphdef.h"

namespace orrery::workload {

// One input of a node that carries data.
struct GraphDefEdge {
  std::int32_t node = -1;  // -1: the graph has no node of that name
  int output = 0;
};

// `node "layer1/conv" (Conv2D)`, safe to print.
std::string describe(const GraphDefNode& node);

// Refers to the graph, which must outlive it.
class GraphDefIndex {
 public:
  // Fails on two nodes of one name. Inputs that no node makes are kept as such: a graph may have been cut.
  static Result<GraphDefIndex> make(const GraphDef& graph);

  const GraphDef& graph() const { return *graph_; }
  std::size_t size() const { return graph_->nodes.size(); }
  const GraphDefNode& node(std::int32_t index) const { return graph_->nodes[static_cast<std::size_t>(index)]; }
  // Data inputs in order; control inputs are left out.
  std::span<const GraphDefEdge> inputs(std::int32_t index) const;
  // -1: there is none.
  std::int32_t find(std::string_view name) const;

  // The nodes of `wanted` in an order in which inputs come first, and otherwise as in the file. Fails on a cycle and on
  // an input that no node makes, and names the node. Linear in nodes and edges; does not recurse.
  Result<std::vector<std::int32_t>> sorted(const std::vector<bool>& wanted) const;

 private:
  const GraphDef* graph_ = nullptr;
  std::unordered_map<std::string_view, std::int32_t> by_name_;
  std::vector<GraphDefEdge> edges_;
  std::vector<std::size_t> first_edge_;  // of every node, and one more
};

}  // namespace orrery::workload
