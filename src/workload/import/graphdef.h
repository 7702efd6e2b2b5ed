#pragma once
// TensorFlow 1.x GraphDef: the nodes of a graph with their devices, inputs and known output shapes, as written.
//
// This is the graph as the framework holds it, gradients and optimizer included; what each node computes is not
// interpreted here.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace orrery::workload {

struct GraphDefNode {
  std::string name;
  std::string op;
  std::string device;
  std::vector<std::string> inputs;  // "producer", "producer:1", "^control"
  // From `_output_shapes`: one per output; empty optional: unknown rank; -1: unknown dimension.
  std::vector<std::optional<std::vector<std::int64_t>>> output_shapes;
};

struct GraphDef {
  std::vector<GraphDefNode> nodes;
};

inline constexpr int kGraphDefDepthMax = 64;
inline constexpr std::size_t kGraphDefNodesMax = 2'000'000;

// The text form (.pbtxt). Errors name the line.
Result<GraphDef> parse_graphdef_text(std::string_view text);

// What the operators of one kind of device look like as an undirected graph.
struct GraphDefFacts {
  std::size_t nodes_total = 0;
  std::size_t device_nodes = 0;
  std::size_t device_references = 0;  // inputs from one such node to another, repeated ones counted
  // Of the largest connected part of these nodes:
  std::size_t component_nodes = 0;
  std::size_t component_edges = 0;   // distinct, without direction
  double component_tensor_size = 0;  // elements of first outputs; see tensor_size()
  std::map<std::string, std::size_t> component_ops;
  std::map<std::string, std::size_t> device_ops;
};

// Looks at the nodes whose device contains `device` ("GPU"). Fails on two nodes of one name; inputs from nodes that do
// not exist are ignored, as they are where a graph was cut.
Result<GraphDefFacts> graphdef_facts(const GraphDef& graph, std::string_view device);

// Elements of a node's first output. 0 for scalars and unknown ranks. An unknown dimension sets the product to 0 and
// the next one starts it from 1 again: an unknown batch in front is skipped, an unknown last dimension gives 0.
double tensor_size(const GraphDefNode& node);

}  // namespace orrery::workload
