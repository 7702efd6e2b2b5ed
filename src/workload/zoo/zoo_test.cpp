#include "workload/zoo/zoo.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "workload/cost.h"

namespace orrery::workload {
namespace {

struct Totals {
  double activation_flops = 0;  // forward and backward
  double activation_bytes = 0;
  double parameter_bytes = 0;
};

Totals totals(const TrainingGraph& graph) {
  Totals sum;
  for (const PhaseStep& step : graph.execution_order()) {
    const OperatorCost cost = operator_cost(graph, step, {});
    const bool per_sample = step.phase != Phase::kUpdate && graph.is_per_sample(step.op);
    if (per_sample) sum.activation_flops += cost.flops().value();
    sum.activation_bytes += (cost.read + cost.written).value();
    sum.parameter_bytes += cost.parameters.value();
  }
  return sum;
}

class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, BuildsAndScalesLinearlyWithTheBatch) {
  const auto one = build_model(GetParam());
  ASSERT_TRUE(one) << one.error().to_string();
  EXPECT_GT(one->parameter_count(), 0);
  EXPECT_GT(one->macs(), 0);
  const auto four = one->with_batch(4);
  ASSERT_TRUE(four) << four.error().to_string();
  EXPECT_EQ(four->parameter_count(), one->parameter_count());
  EXPECT_NEAR(four->macs() / one->macs(), 4, 1e-9);
  const Totals a = totals(*one), b = totals(*four);
  // Learned tensors used as they are (position embeddings) do not grow with the batch, so the sum may fall a little
  // short.
  EXPECT_NEAR(b.activation_flops / a.activation_flops, 4, 0.02);
  EXPECT_NEAR(b.activation_bytes / a.activation_bytes, 4, 0.02);
  EXPECT_LE(b.activation_flops, 4 * a.activation_flops * (1 + 1e-12));
  EXPECT_DOUBLE_EQ(b.parameter_bytes, a.parameter_bytes);
}

TEST_P(EveryModel, EndsInALossThatReachesEveryParameter) {
  const auto graph = build_model(GetParam());
  ASSERT_TRUE(graph);
  const Operators& operators = graph->operators();
  ByOperator<bool> used(operators.size(), false);
  // An operator matters if it is the last one, a loss, or feeds one that matters.
  used.back() = true;
  for (const OperatorIndex at : operators.indices().reversed()) {
    if (operators[at].kind >= OperatorKind::kCrossEntropy) used[at] = true;
    if (!used[at]) continue;
    for (const Value& input : operators[at].inputs) used[input.op] = true;
  }
  for (const OperatorIndex at : operators.indices()) {
    EXPECT_TRUE(used[at] || operators[at].parameters.empty()) << operators[at].name;
  }
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const ModelVariant& variant : model_variants()) names.push_back(variant.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryModel, testing::ValuesIn(all_names()), [](const auto& model) {
  std::string name = model.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST(ZooTest, KnownParameterCounts) {
  EXPECT_EQ(build_model("resnet18")->parameter_count(), 11689512);
  EXPECT_EQ(build_model("resnet50")->parameter_count(), 25557032);
  EXPECT_EQ(build_model("alexnet")->parameter_count(), 61100840);
  EXPECT_EQ(build_model("bert_base")->parameter_count(), 109514298);
  EXPECT_EQ(build_model("bert_large")->parameter_count(), 335174458);
  EXPECT_EQ(build_model("gpt2")->parameter_count(), 124439808);
  EXPECT_EQ(build_model("gpt2_xl")->parameter_count(), 1557611200);
  EXPECT_EQ(build_model("llama_7b")->parameter_count(), 6738415616);
  EXPECT_EQ(build_model("llama_13b")->parameter_count(), 13015864320);
  EXPECT_EQ(build_model("llama2_70b")->parameter_count(), 68976648192);
  EXPECT_EQ(build_model("llama3_8b")->parameter_count(), 8030261248);
  EXPECT_EQ(build_model("tinyllama_1.1b")->parameter_count(), 1100048384);
}

TEST(ZooTest, ParametersChangeTheModelAndMistakesAreNamed) {
  EXPECT_EQ(build_model("resnet50:classes=10")->parameter_count(), 25557032 - 2049 * 990);
  EXPECT_EQ(build_model("resnet5O").error().message(), "unknown model \"resnet5O\"; did you mean \"resnet50\"?");
  EXPECT_EQ(build_model("resnet50:clases=10").error().to_string(),
            "model resnet50: unknown option \"clases\"; did you mean \"classes\"?");
  EXPECT_EQ(build_model("resnet50:classes").error().to_string(), "model resnet50: \"classes\" is not parameter=value");
  EXPECT_EQ(build_model("alexnet:input=8").error().to_string(),
            "model alexnet:input=8: operator max_pool2d (max_pool2d): height: kernel covers 3 but the padded input "
            "is only 1 (input 1, padding 0)");
}

TEST(ZooTest, AnyTextGivesAModelOrAnError) {
  const bool holds = rc::check("parse_model never crashes", [](const std::string& text) {
    (void)parse_model(text);
    (void)parse_model("resnet50:" + text);
  });
  EXPECT_TRUE(holds);
}

}  // namespace
}  // namespace orrery::workload
