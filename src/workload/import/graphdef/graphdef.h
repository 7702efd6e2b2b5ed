#pragma once
// TensorFlow 1.x GraphDef: the nodes of a graph with their devices, inputs, known output shapes and the few attributes
// on which shapes depend, as written.
//
// This is the graph as the framework keeps it, gradients and optimizer included; what each node computes is not
// interpreted here. The text form and the binary form of a graph give equal GraphDefs, under equal limits. Of a tensor
// with more than kGraphDefNumbersMax elements only type and shape are kept, so frozen weights need no memory.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workload/import/wire.h"

namespace orrery::workload {

// Dimensions; -1: unknown. Empty optional: unknown rank.
using GraphDefShape = std::optional<std::vector<std::int64_t>>;

// TensorFlow's numbers of element types; a reference to a variable has 100 more.
inline constexpr int kGraphDefFloat = 1, kGraphDefDouble = 2, kGraphDefInt32 = 3, kGraphDefString = 7,
                     kGraphDefInt64 = 9, kGraphDefBool = 10, kGraphDefBfloat16 = 14, kGraphDefHalf = 19,
                     kGraphDefResource = 20;

struct GraphDefTensor {
  int dtype = 0;
  GraphDefShape shape = std::vector<std::int64_t>();
  // Row by row, for at most kGraphDefNumbersMax elements of a common number type; empty: not known.
  std::vector<double> numbers;
  friend bool operator==(const GraphDefTensor&, const GraphDefTensor&) = default;
};

// One attribute; what the file does not set keeps its default.
struct GraphDefAttribute {
  std::string name;
  std::string s;
  std::int64_t i = 0;
  double f = 0;
  bool b = false;
  int type = 0;
  std::vector<std::int64_t> ints;     // of a list
  std::vector<GraphDefShape> shapes;  // of a list, or the only one
  std::vector<int> types;             // of a list
  std::optional<GraphDefTensor> tensor;
  friend bool operator==(const GraphDefAttribute&, const GraphDefAttribute&) = default;
};

struct GraphDefNode {
  std::string name;
  std::string op;
  std::string device;
  std::vector<std::string> inputs;  // "producer", "producer:1", "^control"
  // From `_output_shapes`: one per output.
  std::vector<GraphDefShape> output_shapes;
  std::vector<GraphDefAttribute> attributes;  // those of is_kept_attribute() that the node has

  const GraphDefAttribute* find(std::string_view attribute) const;
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  bool flag(std::string_view attribute) const;  // false if it is missing
  std::string_view text(std::string_view attribute, std::string_view otherwise) const;
  int type(std::string_view attribute) const;                                   // 0 if it is missing
  const std::vector<std::int64_t>& integers(std::string_view attribute) const;  // empty if it is missing
  friend bool operator==(const GraphDefNode&, const GraphDefNode&) = default;
};

struct GraphDef {
  std::vector<GraphDefNode> nodes;
  friend bool operator==(const GraphDef&, const GraphDef&) = default;
};

inline constexpr int kGraphDefDepthMax = 64;
inline constexpr std::size_t kGraphDefNodesMax = 2'000'000;
inline constexpr std::size_t kGraphDefInputsMax = 8'000'000;      // of all nodes
inline constexpr std::size_t kGraphDefAttributesMax = 8'000'000;  // kept ones and output shapes, of all nodes
inline constexpr std::size_t kGraphDefListMax = 256;              // numbers or shapes in one attribute
inline constexpr std::size_t kGraphDefRankMax = 254;
inline constexpr std::size_t kGraphDefTextMax = 4096;  // bytes of a name, a device or a text attribute
inline constexpr std::size_t kGraphDefNumbersMax = 64;

// The text form (.pbtxt). Errors name the line.
Result<GraphDef> parse_graphdef_text(std::string_view text);
// The binary form (.pb), bare or in a SavedModel (its first graph). Errors name the offset.
Result<GraphDef> parse_graphdef_binary(import::ByteSource& source);

// Whether readers keep the attribute of this name; `_output_shapes` is kept as GraphDefNode::output_shapes.
bool is_kept_attribute(std::string_view name);
// "DT_FLOAT" → 1. No value for a word that is not a type.
std::optional<int> graphdef_type(std::string_view word);
// Fills `numbers` up to the elements of the shape (the last one counts for all that follow), or empties it if the
// tensor is too large or its content is not known. `content` is the tensor's content as bytes, little-endian.
void complete_tensor(GraphDefTensor& tensor, std::string_view content);

// The node an input comes from, and which of its outputs it is.
struct GraphDefInput {
  std::string_view node;
  int output = 0;
  bool control = false;
};
GraphDefInput parse_input(std::string_view input);

// The nodes of one kind of device, and the largest connected part of them as an undirected graph. Nodes are places in
// GraphDef::nodes.
struct GraphDefPart {
  std::vector<std::size_t> device_nodes;
  std::size_t device_references = 0;                       // inputs from one of them to another, repeated ones counted
  std::vector<std::size_t> nodes;                          // of equally large parts, the one that comes first
  std::vector<std::pair<std::size_t, std::size_t>> edges;  // between these, distinct, the smaller end first, sorted
};

// Examines the nodes whose device contains `device` ("GPU"). Fails on two nodes of one name; inputs from nodes that do
// not exist are ignored, as in graphs that were cut.
Result<GraphDefPart> largest_part(const GraphDef& graph, std::string_view device);

// The metrics of such a part.
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

Result<GraphDefFacts> graphdef_facts(const GraphDef& graph, std::string_view device);

// Elements of a node's first output. 0 for scalars and unknown ranks. An unknown dimension sets the product to 0 and
// the next one starts it from 1 again: an unknown batch in front is skipped, an unknown last dimension gives 0.
double tensor_size(const GraphDefNode& node);

}  // namespace orrery::workload
