#include "predict/driple/node_graph.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "predict/driple/framework_ops.h"
#include "workload/graph_builder.h"
#include "workload/traits.h"

namespace orrery::predict {
namespace {

constexpr std::string_view kShares = "\xEF\xBB\xBFMatMul,0.25\r\nRelu,0.125\r\nConst,0.5\n";

OpFrequencies shares() {
  return OpFrequencies::parse(kShares).value();
}

TEST(OpFrequencies, ReadATableWithoutHeader) {
  const OpFrequencies table = shares();
  EXPECT_EQ(table.size(), 3U);
  EXPECT_EQ(table.find("MatMul"), 0.25);
  EXPECT_EQ(table.find("Const"), 0.5);
  EXPECT_FALSE(table.find("Stage").has_value());
  EXPECT_EQ(OpFrequencies::parse("op,share\nRelu,0.1\n").value().size(), 1U);
}

TEST(OpFrequencies, MistakesNameTheLine) {
  const auto message = [](std::string_view csv) { return OpFrequencies::parse(csv).error().message(); };
  EXPECT_EQ(message("op,share\nRelu,much\n"), "line 2: expected a share from 0 to 1, got \"much\"");
  EXPECT_EQ(message("op,share\nRelu,0.1\nAdd,1.5\n"), "line 3: expected a share from 0 to 1, got \"1.5\"");
  EXPECT_EQ(message("op\n"), "expected two columns, operator and share");
}

TEST(OpFrequencies, AnyTextIsATableOrAnError) {
  EXPECT_TRUE(rc::check([](std::string text) {
    if (*rc::gen::arbitrary<bool>()) text = std::string(kShares) + text;
    (void)OpFrequencies::parse(text);
  }));
}

// x → y → z on the GPU, y reads x twice and has no share; "alone" is joined to nothing, "host" is elsewhere, and a–b is
// a smaller part.
constexpr std::string_view kGraph = R"(
node { name: "x" op: "Const" device: "/device:GPU:0"
  attr { key: "_output_shapes" value { list { shape { dim { size: 3 } dim { size: 5 } } } } } }
node { name: "alone" op: "NoOp" device: "/device:GPU:0" }
node { name: "y" op: "Stage" input: "x" input: "x:1" input: "^host" device: "/device:GPU:0" }
node { name: "host" op: "Print" input: "y" device: "/device:CPU:0" }
node { name: "z" op: "MatMul" input: "^y" device: "/device:GPU:0"
  attr { key: "_output_shapes" value { list { shape { dim { size: -1 } dim { size: 7 } } } } } }
node { name: "a" op: "Const" device: "/device:GPU:0" }
node { name: "b" op: "Relu" input: "a" device: "/device:GPU:0" }
)";

TEST(NodeGraph, OfAGraphDefIsItsLargestPartOnTheDevice) {
  const auto graph = workload::parse_graphdef_text(kGraph).value();
  const BuiltGraph built = build_node_graph(graph, shares()).value();
  EXPECT_EQ(built.ops, (std::vector<std::string>{"Const", "Stage", "MatMul"}));
  EXPECT_EQ(built.graph.nodes, (std::vector<GraphNode>{{15, 1, 0.5}, {0, 1, 0}, {7, 1, 0.25}}));
  EXPECT_EQ(built.graph.edges, (std::vector<GraphEdge>{{0, 1}, {1, 2}}));
  EXPECT_EQ(built.unknown_ops, (std::map<std::string, std::size_t>{{"Stage", 1}}));
  const NodeGraphOptions with_default{.unknown_share = 0.01};
  EXPECT_EQ(build_node_graph(graph, shares(), with_default)->graph.nodes[1].type, 0.01);
  EXPECT_FALSE(build_node_graph(graph, shares(), {.device = "TPU"}).has_value());
  EXPECT_FALSE(build_node_graph(graph, shares(), {.device = "CPU"}).has_value());
}

TEST(NodeGraph, EdgesAreDistinctAndNeighboursAreBothWays) {
  NodeGraph graph;
  graph.nodes.resize(4);
  graph.edges = distinct_edges({{2, 1}, {1, 2}, {3, 3}, {0, 2}});
  EXPECT_EQ(graph.edges, (std::vector<GraphEdge>{{0, 2}, {1, 2}}));
  const Neighbours neighbours(graph);
  EXPECT_EQ(neighbours.of(2).size(), 2U);
  EXPECT_EQ(neighbours.of(0)[0], 2U);
  EXPECT_TRUE(neighbours.of(3).empty());
}

// input → linear (weight 8×4, bias 4) → relu → cross-entropy, batch 16. Forward 4 nodes; backward of linear, relu and
// loss 3; two variables with an update each 4.
TEST(NodeGraph, OfOurOwnGraphHasForwardBackwardAndUpdates) {
  workload::GraphBuilder builder("small");
  const auto x = builder.input("x", {16, 8});
  builder.cross_entropy(builder.relu(builder.linear(x, "fc", 4)));
  const workload::TrainingRun run{.graph = builder.finish().value(), .optimizer = workload::Optimizer::kAdam};
  const BuiltGraph built = build_node_graph(run, shares());
  EXPECT_EQ(built.graph.nodes.size(), 11U);
  EXPECT_EQ(std::count(built.ops.begin(), built.ops.end(), "VariableV2"), 2);
  EXPECT_EQ(std::count(built.ops.begin(), built.ops.end(), "ApplyAdam"), 2);
  EXPECT_EQ(std::count(built.ops.begin(), built.ops.end(), "MatMul"), 2);
  EXPECT_EQ(built.unknown_ops.at("ApplyAdam"), 2U);
  // Forward 3 edges; each backward node to its forward node and its input's 6; between backward nodes 2; per variable
  // forward, update and gradient 6.
  EXPECT_EQ(built.graph.edges.size(), 17U);
  double variables = 0;
  for (std::size_t i = 0; i < built.ops.size(); ++i) {
    if (built.ops[i] == "VariableV2") variables += built.graph.nodes[i].tensor_size;
  }
  EXPECT_EQ(variables, 36);
}

TEST(NodeGraph, EveryKindOfOperatorHasAName) {
  for (int kind = 0; kind <= static_cast<int>(workload::OperatorKind::kBinaryCrossEntropy); ++kind) {
    const FrameworkOps ops = framework_ops(static_cast<workload::OperatorKind>(kind));
    EXPECT_FALSE(ops.forward.empty() || ops.backward.empty()) << kind;
  }
}

}  // namespace
}  // namespace orrery::predict
