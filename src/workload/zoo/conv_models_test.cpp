#include <algorithm>
#include <gtest/gtest.h>

#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/zoo.h"

namespace orrery::workload {
namespace {

std::int64_t parameters(std::string_view model) {
  const auto graph = build_model(model);
  EXPECT_TRUE(graph) << graph.error().to_string();
  return graph ? graph->parameter_count() : 0;
}

TEST(MakeDivisibleTest, RoundsToTheNearestButNeverLosesATenth) {
  EXPECT_EQ(zoo::make_divisible(83), 80);
  EXPECT_EQ(zoo::make_divisible(84), 88);
  EXPECT_EQ(zoo::make_divisible(18), 24);  // 16 would lose 11 %
  EXPECT_EQ(zoo::make_divisible(18, 8, 0), 16);
  EXPECT_EQ(zoo::make_divisible(1), 8);
}

TEST(ConvModelsTest, LenetHasItsWellKnownSize) {
  // 6·26 + 16·151 + 120·401 + 84·121 + 10·85
  EXPECT_EQ(parameters("lenet"), 61706);
}

TEST(ConvModelsTest, HeadsThatOnlyTrainCanBeLeftOut) {
  EXPECT_EQ(parameters("googlenet:aux=false"), 6624904);
  EXPECT_EQ(parameters("inception_v3:aux=false"), 23834568);
}

TEST(ConvModelsTest, DepthsAreChecked) {
  EXPECT_EQ(build_model("densenet121:blocks=6-x").error().message(),
            "blocks: \"x\" in \"6-x\" is not a whole number from 1 to 1000");
  EXPECT_EQ(build_model("convnext_tiny:depths=1-1-1-1-1-1-1-1-1").error().message(), "depths: more than 8 stages");
  EXPECT_EQ(build_model("vgg16:depth=12").error().message(),
            "model vgg16:depth=12: depth 12 is not one of 11, 13, 16, 19");
}

TEST(ConvModelsTest, ReluOverwritesAndTheOthersDoNot) {
  for (const ModelVariant& variant : model_variants()) {
    const auto graph = build_model(variant.name);
    ASSERT_TRUE(graph) << variant.name;
    for (const Operator& op : graph->operators()) {
      const bool keeps_input = op.kind == OperatorKind::kSilu || op.kind == OperatorKind::kGelu ||
                               op.kind == OperatorKind::kHardswish || op.kind == OperatorKind::kHardsigmoid ||
                               op.kind == OperatorKind::kRelu6 || op.kind == OperatorKind::kHardtanh;
      EXPECT_FALSE(op.in_place && keeps_input) << variant.name << ": " << op.name;
    }
  }
}

TEST(RandWireTest, TheSeedAloneDecidesTheWiring) {
  // Pinned: the same on every machine. The paper reports 5.6 M and 31.9 M parameters for graphs of this kind.
  EXPECT_EQ(parameters("randwire_small"), parameters("randwire_small:seed=1"));
  EXPECT_EQ(parameters("randwire_small"), 5451623);
  EXPECT_EQ(parameters("randwire_regular"), 30761748);
  EXPECT_NE(parameters("randwire_small:seed=2"), parameters("randwire_small:seed=3"));
}

TEST(RandWireTest, WithoutRewiringEveryNodeReadsItsNeighbours) {
  // A ring of 8 with 2 neighbours and edges upwards: 0→1→…→7 and 0→7. One node starts, one ends, one adds two inputs.
  const auto graph = build_model("randwire:nodes=8,neighbours=2,rewired=0");
  ASSERT_TRUE(graph);
  const Operators& ops = graph->operators();
  const auto count = [&](OperatorKind kind) {
    return std::count_if(ops.begin(), ops.end(), [&](const Operator& op) { return op.kind == kind; });
  };
  EXPECT_EQ(count(OperatorKind::kAdd), 3);
  EXPECT_EQ(count(OperatorKind::kScale), 0);
  EXPECT_EQ(count(OperatorKind::kConv2d), 3 * 8 * 2 + 3);
}

TEST(RandWireTest, ImpossibleWiringsAreRefused) {
  EXPECT_EQ(build_model("randwire:nodes=4").error().message(),
            "model randwire:nodes=4: neighbours 4 must be even and below the 4 nodes of a stage");
}

TEST(VaeTest, TheCodeIsSampledForEveryImage) {
  const auto graph = build_model("vae")->with_batch(16);
  ASSERT_TRUE(graph);
  const Operators& ops = graph->operators();
  const auto noise =
      std::find_if(ops.begin(), ops.end(), [](const Operator& op) { return op.kind == OperatorKind::kRandom; });
  ASSERT_NE(noise, ops.end());
  EXPECT_EQ(noise->outputs[0].shape, (Shape{16, 128}));
  EXPECT_EQ(build_model("vae:input=100").error().message(),
            "model vae:input=100: input 100 cannot be halved 4 times without remainder");
}

}  // namespace
}  // namespace orrery::workload
