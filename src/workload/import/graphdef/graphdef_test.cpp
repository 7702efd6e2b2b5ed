#include "workload/import/graphdef/graphdef.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace orrery::workload {
namespace {

constexpr std::string_view kSmall = R"(
# a comment
node { name: "x" op: "Placeholder" device: "/device:GPU:0"
  attr { key: "_output_shapes" value { list { shape { dim { size: -1 } dim { size: 8 } } } } } }
node { name: "w" op: "Const" device: "/device:GPU:0"
  attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_content: "\001}{\"" float_val: [1, 2.5, -3e-4] } } }
  attr { key: "_output_shapes" value { list { shape { dim { size: 8 } dim { size: 4 } } } } } }
node { name: "y" op: "MatMul" input: "x" input: "w:0" input: "^x" device: "/device:GPU:0"
  attr { key: "_output_shapes" value { list { shape { unknown_rank: true } } } } }
node { name: "alone" op: "NoOp" device: "/device:GPU:0" }
node { name: "host" op: "Print" input: "y" device: "/device:CPU:0" }
versions { producer: 26 }
)";

TEST(GraphDefTest, ReadsNodesDevicesInputsAndShapes) {
  const auto graph = parse_graphdef_text(kSmall);
  ASSERT_TRUE(graph) << graph.error().to_string();
  ASSERT_EQ(graph->nodes.size(), 5U);
  EXPECT_EQ(graph->nodes[0].output_shapes[0], (std::vector<std::int64_t>{-1, 8}));
  EXPECT_EQ(graph->nodes[2].inputs, (std::vector<std::string>{"x", "w:0", "^x"}));
  EXPECT_EQ(graph->nodes[2].output_shapes[0], std::nullopt);
}

TEST(GraphDefTest, FactsCountTheNodesOfOneDevice) {
  // GPU nodes x, w, y, alone; y refers to x, w and x again; the largest part is x, w, y with edges xy and wy.
  // Sizes: x has an unknown batch and 8, w 32, y unknown: 40.
  const GraphDefFacts facts = *graphdef_facts(*parse_graphdef_text(kSmall), "GPU");
  EXPECT_EQ(facts.nodes_total, 5U);
  EXPECT_EQ(facts.device_nodes, 4U);
  EXPECT_EQ(facts.device_references, 3U);
  EXPECT_EQ(facts.component_nodes, 3U);
  EXPECT_EQ(facts.component_edges, 2U);
  EXPECT_EQ(facts.component_tensor_size, 40);
}

TEST(GraphDefTest, UnknownDimensionsRestartTheProduct) {
  const auto size = [](std::vector<std::int64_t> dims) {
    GraphDefNode node;
    node.output_shapes.emplace_back(std::move(dims));
    return tensor_size(node);
  };
  EXPECT_EQ(size({-1, 3, 4}), 12);
  EXPECT_EQ(size({3, -1, 4}), 4);
  EXPECT_EQ(size({3, 4, -1}), 0);
  EXPECT_EQ(size({}), 0);
}

TEST(GraphDefTest, MistakesNameTheLine) {
  const auto message = [](std::string_view text) { return parse_graphdef_text(text).error().message(); };
  EXPECT_EQ(message(""), "no nodes");
  EXPECT_EQ(message("node {\n name: \"a\"\n"), "line 3: expected }");
  EXPECT_EQ(message("node {\n name: \"a\n"), "line 2: text is never closed");
  EXPECT_EQ(message("node { name: \"a\" }"), "line 1: a node without name or op");
  std::string bomb = "node {";
  for (int i = 0; i < 1000; ++i) bomb += " a {";
  EXPECT_EQ(message(bomb), "line 1: nested more than 64 deep");
  EXPECT_EQ(graphdef_facts(*parse_graphdef_text(R"(node { name: "a" op: "b" } node { name: "a" op: "b" })"), "")
                .error()
                .message(),
            "two nodes are named a");
}

TEST(GraphDefTest, DamagedTextGivesAGraphOrAnError) {
  const bool holds = rc::check("any cut or changed byte", [] {
    std::string text(kSmall);
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    if (*rc::gen::arbitrary<bool>())
      text.resize(at);
    else
      text[at] = *rc::gen::arbitrary<char>();
    (void)parse_graphdef_text(text);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace orrery::workload
