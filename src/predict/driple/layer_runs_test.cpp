#include "predict/driple/layer_runs.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "predict/driple/graph_aggregates.h"

namespace orrery::predict {
namespace {

constexpr std::string_view kRuns =
    "Filename,Activations-Params,Batch Size,Max GPU Memory (MiB),Avg GPUTL,Avg GRACT,Avg SMACT,Avg SMOCC,Avg FP32A\n"
    "a.out,\"[('linear', 20, 220), ('batch_normalization', 20, 40), ('ReLU', 20, 0), ('linear', 4, 84)]\",8,1500,25.5,"
    "0.2,0.1,0.01,0.05\n";

LayerRun one_run() {
  return parse_layer_runs(kRuns).value().at(0);
}

TEST(LayerRuns, AreReadWithTheirMetrics) {
  const LayerRun run = one_run();
  EXPECT_EQ(run.name, "a.out");
  ASSERT_EQ(run.layers.size(), 4U);
  EXPECT_EQ(run.layers[1].kind, "batch_normalization");
  EXPECT_EQ(run.layers[3].parameters, 84);
  EXPECT_EQ(run.batch, 8);
  EXPECT_EQ(run.used, (std::array<double, 6>{1500, 25.5, 0.2, 0.1, 0.01, 0.05}));
}

TEST(LayerRuns, MistakesNameTheLine) {
  const auto message = [](std::string_view from, std::string_view to) {
    std::string text(kRuns);
    text.replace(text.find(from), from.size(), to);
    return parse_layer_runs(text).error().to_string();
  };
  EXPECT_EQ(message("('ReLU', 20, 0)", "('ReLU', 20)"), "line 2: expected layers as (kind, activations, parameters)");
  EXPECT_EQ(message("20, 220", "20, -1"), "line 2: the size of a layer is out of range");
  EXPECT_EQ(message(",8,1500", ",0,1500"), "line 2: expected a batch size, got \"0\"");
  EXPECT_EQ(message("25.5", "busy"), "line 2: Avg GPUTL: expected a number from 0 on, got \"busy\"");
}

TEST(LayerRuns, DamagedTextGivesRunsOrAnError) {
  EXPECT_TRUE(rc::check([] {
    std::string text(kRuns);
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      text[*rc::gen::inRange<std::size_t>(0, text.size())] = *rc::gen::arbitrary<char>();
    }
    const auto runs = parse_layer_runs(text);
    if (runs) {
      for (const LayerRun& run : *runs) (void)build_node_graph(run, OpFrequencies());
    }
  }));
}

// Input of 8 × 10, four layers in a chain, and variables of 200 and 20, 20 and 20, 80 and 4 elements.
TEST(LayerRuns, BecomeAChainWithVariables) {
  const BuiltGraph built = build_node_graph(one_run(), OpFrequencies::parse("op,share\nMatMul,0.5\n").value());
  ASSERT_EQ(built.graph.nodes.size(), 11U);
  EXPECT_EQ(built.graph.edges.size(), 10U);
  EXPECT_EQ(built.graph.nodes[0], (GraphNode{80, 1, 0}));
  EXPECT_EQ(built.graph.nodes[1], (GraphNode{160, 1, 0.5}));
  EXPECT_EQ(built.graph.nodes[2], (GraphNode{200, 1, 0}));
  EXPECT_EQ(built.unknown_ops.at("VariableV2"), 6U);
  double variables = 0;
  for (std::size_t i = 0; i < built.ops.size(); ++i) {
    if (built.ops[i] == "VariableV2") variables += built.graph.nodes[i].tensor_size;
  }
  EXPECT_EQ(variables, 344);
}

// Work: batch 8 times the variables beside: 8 · 220 = 1760, 320, 0, 672 and 0 for the input; in all 2752.
TEST(GraphAggregates, CountSizesWorkAndKinds) {
  const BuiltGraph built = build_node_graph(one_run(), OpFrequencies());
  const BuiltGraph* const graphs[] = {&built};
  const GraphAggregates aggregates(graphs);
  const std::vector<float> row = aggregates.row(built, 8);
  ASSERT_EQ(row.size(), aggregates.names().size());
  const auto value = [&](std::string_view name) {
    const auto& names = aggregates.names();
    const auto found = std::find(names.begin(), names.end(), name);
    EXPECT_NE(found, names.end()) << name;
    return row[static_cast<std::size_t>(found - names.begin())];
  };
  EXPECT_EQ(value("batch"), log_size(8));
  EXPECT_EQ(value("edges"), 10);
  EXPECT_EQ(value("operators count"), 5);
  EXPECT_EQ(value("operators sum"), log_size(80 + 3 * 160 + 32));
  EXPECT_EQ(value("last size"), log_size(32));
  EXPECT_EQ(value("variables sum"), log_size(344));
  EXPECT_EQ(value("variables from 4^2"), 3);  // 20 three times; 4 is from 4^1, 80 and 200 from 4^3
  EXPECT_EQ(value("works sum"), log_size(2752));
  EXPECT_FLOAT_EQ(value("filling 1e+06"), 2752.0F / 5e6F);
  EXPECT_EQ(value("kind MatMul"), 2);
  EXPECT_EQ(value("kind VariableV2"), 6);
}

}  // namespace
}  // namespace orrery::predict
