#include "workload/import/graph_json.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <rapidcheck.h>

#include "workload/import/attribute_fields.h"
#include "workload/zoo/zoo.h"

namespace orrery::workload {
namespace {

void expect_same(const TrainingGraph& a, const TrainingGraph& b) {
  ASSERT_EQ(a.operators().size(), b.operators().size());
  for (const OperatorIndex at : a.operators().indices()) {
    const Operator &x = a[at], &y = b[at];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.kind, y.kind);
    EXPECT_EQ(x.inputs, y.inputs) << x.name;
    EXPECT_EQ(x.in_place, y.in_place) << x.name;
    EXPECT_EQ(x.frozen, y.frozen) << x.name;
    EXPECT_EQ(x.tied_to, y.tied_to) << x.name;
    EXPECT_TRUE(x.attributes == y.attributes) << x.name;
    EXPECT_EQ(x.outputs, y.outputs) << x.name;
  }
}

TEST(GraphJsonTest, EveryModelOfTheZooComesBackTheSame) {
  for (const ModelVariant& variant : model_variants()) {
    const TrainingGraph graph = *build_model(variant.name);
    const auto again = parse_graph_json(to_graph_json(graph));
    ASSERT_TRUE(again) << variant.name << ": " << again.error().to_string();
    expect_same(graph, *again);
    EXPECT_EQ(graph.parameter_count(), again->parameter_count());
  }
}

std::string graph_with(const std::string& operators) {
  return R"({"format": "orrery-graph", "version": 1, "name": "g", "operators": [
    {"name": "x", "kind": "input", "shape": [1, 3, 8, 8]})" +
         operators + "]}";
}

std::string message(const std::string& text) {
  const auto graph = parse_graph_json(text);
  return graph ? "no error" : graph.error().to_string();
}

TEST(GraphJsonTest, MistakesNameTheOperatorAndTheField) {
  EXPECT_EQ(message(graph_with("")), "no error");
  EXPECT_EQ(message("{"), "not JSON at byte 2");
  EXPECT_EQ(message("{\"version\": 4e4444}"), "a number is too large");
  EXPECT_EQ(message("[]"), "expected an object with format, version, name and operators");
  EXPECT_EQ(message(R"({"format": "onnx"})"), "format: expected \"orrery-graph\", got \"onnx\"");
  EXPECT_EQ(message(R"({"format": "orrery-graph", "version": 2})"), "version: this program reads version 1, not 2");
  EXPECT_EQ(message(R"({"fromat": "x"})"), "unknown field \"fromat\"; did you mean \"format\"?");
  EXPECT_EQ(message(graph_with(R"(, {"name": "c", "kind": "conv2", "inputs": ["x"]})")),
            "operator c: unknown operator kind \"conv2\"; did you mean \"conv2d\"?");
  EXPECT_EQ(message(graph_with(R"(, {"name": "c", "kind": "conv2d", "inputs": ["y"]})")),
            "operator c: inputs: \"y\" is not an earlier operator");
  EXPECT_EQ(message(graph_with(R"(, {"name": "c", "kind": "conv2d", "inputs": ["x"], "kernel": [3]})")),
            "operator c: kernel: expected two numbers: height and width");
  EXPECT_EQ(message(graph_with(R"(, {"name": "c", "kind": "conv2d", "inputs": ["x"], "grups": 1})")),
            "operator c: unknown field \"grups\"; did you mean \"groups\"?");
  EXPECT_EQ(
      message(graph_with(R"(, {"name": "c", "kind": "linear", "inputs": ["x"], "out_features": 9223372036854775808})")),
      "operator c: out_features: expected a whole number below 2^63");
  EXPECT_EQ(message(graph_with(R"(, {"name": "x", "kind": "relu", "inputs": ["x"]})")), "two operators are named x");
  EXPECT_EQ(message(graph_with(R"(, {"kind": "relu"})")), "operator 1: name: is missing");
  EXPECT_EQ(message(std::string(100000, '[')), "nested more than 64 deep");
}

TEST(GraphJsonTest, OtherOutputsAreReferredToByNumber) {
  const auto graph = parse_graph_json(R"({"format": "orrery-graph", "version": 1, "name": "g", "operators": [
    {"name": "x", "kind": "input", "shape": [1, 5, 10]},
    {"name": "rnn", "kind": "lstm", "inputs": ["x"], "hidden": 4},
    {"name": "state", "kind": "relu", "inputs": ["rnn:2"]}]})");
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->operators()[OperatorIndex(2)].outputs[0].shape, (Shape{1, 1, 4}));
}

TEST(GraphJsonTest, DamagedTextGivesAGraphOrAnError) {
  const std::string text = to_graph_json(*build_model("lenet"));
  const bool holds = rc::check("cutting, overwriting and doubling bytes never crashes", [&] {
    std::string damaged = text;
    const auto at = *rc::gen::inRange<std::size_t>(0, damaged.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        damaged.resize(at);
        break;
      case 1:
        damaged[at] = *rc::gen::arbitrary<char>();
        break;
      default:
        damaged.insert(at, damaged.substr(at, 40));
        break;
    }
    (void)parse_graph_json(damaged);
  });
  EXPECT_TRUE(holds);
}

TEST(GraphJsonTest, SchemaListsEveryKind) {
  const auto schema = nlohmann::json::parse(graph_json_schema());
  EXPECT_EQ(schema["properties"]["operators"]["items"]["oneOf"].size(),
            static_cast<std::size_t>(OperatorKind::kBinaryCrossEntropy) + 1);
}

}  // namespace
}  // namespace orrery::workload
