#pragma once
// NodeGraph: a training graph as Driple sees it. Nodes carry three numbers; edges have no direction and no weight.
//
// From a GraphDef: the nodes of one kind of device, each with the elements of its first output (workload::tensor_size),
// 1 for itself and the share of its operator in a corpus; of these the largest connected part with at least two nodes.
// An operator without a share gets `unknown_share` and is counted (the published code stops there).
//
// From our own graph: what TensorFlow would run for it. Per operator one node forwards and, where a gradient passes,
// one backwards; per parameter tensor a VariableV2 and its update. Tensors flow along edges; a backward node also reads
// what its forward node read, and an update joins its variable to the backward node that makes the gradient.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "predict/driple/op_frequencies.h"
#include "workload/import/graphdef/graphdef.h"
#include "workload/training_run.h"

namespace orrery::predict {

struct GraphNode {
  double tensor_size = 0;  // elements
  double count = 1;        // nodes it stands for
  double type = 0;         // share of its operator, summed over those nodes
  friend bool operator==(const GraphNode&, const GraphNode&) = default;
};

using GraphEdge = std::pair<std::uint32_t, std::uint32_t>;

struct NodeGraph {
  std::vector<GraphNode> nodes;
  std::vector<GraphEdge> edges;  // distinct, the smaller end first, sorted
};

// The neighbours of every node.
class Neighbours {
 public:
  explicit Neighbours(const NodeGraph& graph);
  std::span<const std::uint32_t> of(std::size_t node) const {
    return std::span(ends_).subspan(first_[node], first_[node + 1] - first_[node]);
  }

 private:
  std::vector<std::uint32_t> ends_;
  std::vector<std::size_t> first_;  // of every node, and one more
};

// Both ends ordered, sorted, repeated edges and loops left out.
std::vector<GraphEdge> distinct_edges(std::vector<GraphEdge> edges);

struct NodeGraphOptions {
  std::string device = "GPU";  // of a GraphDef: nodes whose device contains this
  double unknown_share = 0;
};

struct BuiltGraph {
  NodeGraph graph;
  std::vector<std::string> ops;                    // of every node
  std::map<std::string, std::size_t> unknown_ops;  // how many nodes have an operator without a share

  // Adds a node; its place.
  std::uint32_t add(std::string_view op, double tensor_size, const OpFrequencies& frequencies, double unknown_share);
};

Result<BuiltGraph> build_node_graph(const workload::GraphDef& graph, const OpFrequencies& frequencies,
                                    const NodeGraphOptions& options = {});
BuiltGraph build_node_graph(const workload::TrainingRun& run, const OpFrequencies& frequencies,
                            const NodeGraphOptions& options = {});
// The same without what follows from the forward pass: its operators but the loss, and a VariableV2 per parameter
// tensor. What the graphs of runs have that are published as lists of layers (layer_runs.h).
BuiltGraph build_forward_graph(const workload::TrainingRun& run, const OpFrequencies& frequencies,
                               const NodeGraphOptions& options = {});

}  // namespace orrery::predict
