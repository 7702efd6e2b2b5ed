#include "workload/import/graphdef/translate.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "env/sim_files.h"
#include "workload/import/graphdef/models.h"
#include "workload/import/graphdef/phases.h"
#include "workload/import/model_file.h"
#include "workload/traits.h"
#include "workload/zoo/zoo.h"

namespace orrery::workload {
namespace {

using import::GraphDefWriter;
using import::ModelForm;
using W = GraphDefWriter;

std::string kinds(const TrainingGraph& graph) {
  std::string text;
  for (const Operator& op : graph.operators()) text += (text.empty() ? "" : " ") + std::string(to_string(op.kind));
  return text;
}

Result<TrainingGraph> read(const GraphDefWriter& file) {
  const std::string bytes = file.binary();
  import::ByteSource source(bytes);
  ORRERY_TRY(const GraphDef graph, parse_graphdef_binary(source));
  return translate_graphdef(graph, "m.pb");
}

std::string error_of(const GraphDefWriter& file) {
  const auto graph = read(file);
  return graph ? "no error: " + kinds(*graph) : graph.error().to_string();
}

testing::AssertionResult says(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

GraphDefWriter with_input(const W::List& dims = {-1, 8}) {
  return W().node("Placeholder", "x", {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", dims)});
}

struct Case {
  std::string zoo;
  GraphDefWriter (*write)(const ModelForm&);
};

class GraphDefModels : public testing::TestWithParam<Case> {};

// Parameters exactly and products to half a percent as the zoo has them, in every form a graph is found in.
TEST_P(GraphDefModels, AgreeWithTheZoo) {
  const auto zoo = build_model(*parse_model(GetParam().zoo));
  ASSERT_TRUE(zoo) << zoo.error().to_string();
  for (const bool channels_first : {false, true}) {
    for (const bool frozen : {false, true}) {
      for (const std::int64_t batch : {-1, 1, 32}) {
        const auto graph = read(GetParam().write({channels_first, frozen, batch}));
        ASSERT_TRUE(graph) << graph.error().to_string();
        EXPECT_EQ(graph->batch(), 1);
        EXPECT_EQ(graph->parameter_count(), zoo->parameter_count());
        EXPECT_NEAR(graph->macs() / zoo->macs(), 1, 0.005);
        const auto larger = graph->with_batch(6);
        ASSERT_TRUE(larger) << larger.error().to_string();
        EXPECT_EQ(larger->macs(), 6 * graph->macs());
      }
    }
  }
}

TEST_P(GraphDefModels, TextAndBinaryAreTheSameGraph) {
  const GraphDefWriter file = GetParam().write({});
  const auto text = parse_graphdef_text(file.text());
  ASSERT_TRUE(text) << text.error().to_string();
  const std::string bytes = file.binary(), saved = file.saved_model();
  import::ByteSource source(bytes), saved_source(saved);
  EXPECT_EQ(*text, *parse_graphdef_binary(source));
  EXPECT_EQ(*text, *parse_graphdef_binary(saved_source));
}

// Of nodes whose part in a step is plain.
std::optional<std::string_view> expected_phase(const GraphDefNode& node) {
  if (node.op == "ApplyMomentum" || node.name.ends_with("/Momentum")) return "update";
  if (node.name == "total" || node.op == "Relu" || node.name == "labels") return "forward";
  if (node.op == "SaveV2" || node.op == "Assign" || node.op == "ScalarSummary") return "none";
  return std::nullopt;
}

TEST_P(GraphDefModels, HaveThePhasesOfATrainingStep) {
  const auto graph = parse_graphdef_text(GetParam().write({}).text());
  const auto index = GraphDefIndex::make(*graph);
  const GraphDefPhases phases = graphdef_phases(*index);
  EXPECT_EQ(phases.optimizers, std::vector<std::string>{"Momentum"});
  EXPECT_EQ(phases.trained_elements, build_model(*parse_model(GetParam().zoo))->parameter_count());
  for (std::size_t i = 0; i < graph->nodes.size(); ++i) {
    const GraphDefNode& node = graph->nodes[i];
    const std::string_view phase = to_string(phases.of[i]);
    EXPECT_EQ(phase == "backward", node.name.starts_with("gradients/")) << node.name;
    EXPECT_EQ(phase, expected_phase(node).value_or(phase)) << node.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, GraphDefModels,
                         testing::Values(Case{"lenet", import::graphdef_lenet},
                                         Case{"alexnet", import::graphdef_alexnet},
                                         Case{"vgg11", import::graphdef_vgg11},
                                         Case{"resnet18", import::graphdef_resnet18}),
                         [](const auto& test) { return test.param.zoo; });

TEST(GraphDefTranslate, LeNetIsTheSameListOfOperators) {
  const auto graph = read(import::graphdef_lenet({}));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph),
            "input transpose conv2d relu max_pool2d conv2d relu max_pool2d reshape linear relu linear relu linear "
            "cross_entropy");
  const auto first = read(import::graphdef_lenet({.channels_first = true, .frozen = true}));
  ASSERT_TRUE(first) << first.error().to_string();
  EXPECT_EQ(kinds(*first),
            "input conv2d relu max_pool2d conv2d relu max_pool2d reshape linear relu linear relu linear softmax "
            "cross_entropy");
}

TEST(GraphDefTranslate, SamePaddingThatIsUnevenBecomesAPad) {
  GraphDefWriter file = with_input({-1, 9, 9, 3});
  file.node("VariableV2", "w", {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", {2, 2, 3, 4})});
  file.node("Conv2D", "y", {"x", "w"}, {W::list("strides", {1, 1, 1, 1}), W::text("padding", "SAME")});
  const auto graph = read(file);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input transpose pad conv2d cross_entropy");
  EXPECT_EQ(graph->operators()[OperatorIndex(3)].outputs[0].shape, (Shape{1, 4, 9, 9}));
}

TEST(GraphDefTranslate, AnOperatorWithoutARuleTakesItsShapeFromTheFile) {
  const auto graph = read(with_input().node("Mystery", "m", {"x"}, {W::output({-1, 4})}).node("Relu", "y", {"m"}));
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input other relu cross_entropy");
  EXPECT_EQ(graph->with_batch(9)->operators()[OperatorIndex(1)].outputs[0].shape, (Shape{9, 4}));
  EXPECT_TRUE(says(error_of(with_input().node("Mystery", "m", {"x"})),
                   "node \"m\" (Mystery): there is no rule for this operator, and the graph does not say its shape"));
}

TEST(GraphDefTranslate, CellsShareTheirWeightOverTheSteps) {
  GraphDefWriter file = with_input({-1, 8});
  const auto variable = [&](const std::string& name, const W::List& dims) {
    file.node("VariableV2", name, {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", dims)});
  };
  variable("w", {12, 16});
  variable("b", {16});
  file.node("Placeholder", "h", {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", {-1, 4})});
  file.node("LSTMBlockCell", "one", {"x", "h", "h", "w", "b", "b", "b", "b"});
  file.node("LSTMBlockCell", "two", {"x", "one:1", "one:6", "w", "b", "b", "b", "b"});
  file.node("Identity", "y", {"two:6"});
  const auto graph = read(file);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input input concat linear other concat linear other cross_entropy");
  EXPECT_EQ(graph->parameter_count(), 12 * 16 + 16);
  EXPECT_EQ(graph->macs(), 2 * 12 * 16);
  EXPECT_EQ(graph->with_batch(5)->operators().back().inputs[0].output, 6);
}

TEST(GraphDefTranslate, TablesAreEmbeddings) {
  GraphDefWriter file;
  file.node("Placeholder", "ids", {}, {W::type("dtype", "DT_INT32"), W::shape("shape", {-1, 6})});
  file.node("VarHandleOp", "table", {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", {50, 8})});
  file.node("ResourceGather", "e", {"table", "ids"});
  const auto graph = read(file);
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(kinds(*graph), "input embedding cross_entropy");
  EXPECT_EQ(graph->parameter_count(), 400);
}

TEST(GraphDefTranslate, WhatCannotBeIsRefusedByName) {
  EXPECT_TRUE(says(error_of(with_input().node("Enter", "while/Enter", {"x"}).node("Relu", "y", {"while/Enter"})),
                   "node \"while/Enter\" (Enter): loops"));
  EXPECT_TRUE(says(error_of(with_input().node("Relu", "y", {"missing"})), "node \"y\" (Relu): an input is made by no"));
  EXPECT_TRUE(
      says(error_of(with_input().node("Add", "a", {"x", "b"}).node("Relu", "b", {"a"}).node("Relu", "c", {"b"})),
           "is in a cycle"));
  EXPECT_TRUE(says(error_of(with_input().node("Relu", "x", {"x"})), "two nodes are named \"x\""));
  EXPECT_TRUE(says(error_of(with_input({-1, -1}).node("Relu", "y", {"x"})), "input \"x\": dimension 1 is open"));
  EXPECT_TRUE(says(error_of(with_input({2, std::int64_t{1} << 62}).node("Relu", "y", {"x"})), "input \"x\""));
  EXPECT_TRUE(says(error_of(W().node("Const", "c", {}, {W::integers({1})}).node("Relu", "y", {"c"})), "has no input"));
  GraphDefWriter turned = with_input({8, 4});
  turned.node("VariableV2", "w", {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", {8, 2})});
  turned.node("MatMul", "y", {"x", "w"}, {W::flag("transpose_a", true)});
  EXPECT_TRUE(says(error_of(turned), "the size of a weight depends on the batch"));
  GraphDefWriter shared = with_input({-1, 8, 8, 3});
  shared.node("VariableV2", "w", {}, {W::type("dtype", "DT_FLOAT"), W::shape("shape", {3, 3, 3, 3})});
  shared.node("Conv2D", "a", {"x", "w"}).node("Conv2D", "b", {"a", "w"});
  EXPECT_TRUE(says(error_of(shared), "only linear layers can share weights"));
}

TEST(GraphDefTranslate, TheKindOfAFileIsItsContent) {
  env::SimFiles files;
  const GraphDefWriter file = import::graphdef_lenet({});
  ASSERT_TRUE(files.write_atomically("/a.onnx", file.binary()));
  ASSERT_TRUE(files.write_atomically("/b.pb", file.text()));
  ASSERT_TRUE(files.write_atomically("/c.json", file.saved_model()));
  for (const std::string path : {"/a.onnx", "/b.pb", "/c.json"}) {
    const auto graph = read_model_file(files, path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(graph->parameter_count(), 61706);
  }
  import::OnnxWriter onnx;
  onnx.input("x", {1, 4}).weight("w", {4, 2}).node("MatMul", {"x", "w"}, {"y"}).output("y");
  ASSERT_TRUE(files.write_atomically("/d.pb", onnx.bytes()));
  // Fields may come in any order: here the graph is in front of the version.
  const std::string swapped = import::wire_bytes(2, "tool") + import::wire_bytes(7, onnx.graph()) +
                              onnx.bytes().substr(0, 2) + import::wire_bytes(8, import::wire_number(2, 13));
  ASSERT_TRUE(files.write_atomically("/e.pb", swapped));
  for (const std::string path : {"/d.pb", "/e.pb"}) {
    const auto graph = read_model_file(files, path);
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_EQ(graph->parameter_count(), 8);
  }
}

TEST(GraphDefTranslate, ChangedBytesNeverCrash) {
  const bool holds = rc::check("a graph with a few bytes changed is a graph or an error", [] {
    std::string bytes = import::graphdef_lenet({.frozen = *rc::gen::arbitrary<bool>()}).binary();
    const int changes = *rc::gen::inRange(1, 6);
    for (int i = 0; i < changes; ++i)
      bytes[*rc::gen::inRange<std::size_t>(0, bytes.size())] = *rc::gen::arbitrary<char>();
    import::ByteSource source(bytes);
    const auto graph = parse_graphdef_binary(source);
    if (!graph) {
      RC_ASSERT(!graph.error().to_string().empty());
      return;
    }
    const auto made = translate_graphdef(*graph, "m.pb");
    if (!made) RC_ASSERT(!made.error().to_string().empty());
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace orrery::workload
