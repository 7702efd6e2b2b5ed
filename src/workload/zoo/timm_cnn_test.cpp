#include <gtest/gtest.h>

#include "workload/zoo/timm.h"
#include "workload/zoo/zoo.h"

namespace orrery::workload {
namespace {

struct Published {
  const char* name;
  double parameters;  // in millions, as in the table of results TIMM publishes
};

constexpr Published kPublished[] = {
    {"resnet34", 21.80},
    {"wide_resnet50_2", 68.88},
    {"resnext50_32x4d", 25.03},
    {"resnext101_32x4d", 44.18},
    {"vgg11", 132.86},
    {"vgg13_bn", 133.05},
    {"densenet169", 14.15},
    {"timm/inception_v3", 23.83},
    {"mobilenetv2_100", 3.50},
    {"mobilenetv2_140", 6.11},
    {"mobilenetv3_large_100", 5.48},
    {"tf_mobilenetv3_large_075", 3.99},
    {"tf_mobilenetv3_small_075", 2.04},
    {"mnasnet_100", 4.38},
    {"tf_efficientnet_b3", 12.23},
    {"efficientnet_lite0", 4.65},
    {"tf_efficientnet_lite1", 5.42},
    {"tf_efficientnet_lite2", 6.09},
    {"tf_efficientnet_lite3", 8.20},
    {"tf_efficientnetv2_b0", 7.14},
    {"tf_efficientnetv2_b1", 8.14},
    {"tf_efficientnetv2_b2", 10.10},
    {"tf_efficientnetv2_b3", 14.36},
    {"regnetx_002", 2.68},
    {"regnetx_004", 5.16},
    {"regnetx_006", 6.20},
    {"regnetx_040", 22.12},
    {"regnetx_064", 26.21},
    {"regnetx_080", 39.57},
    {"regnety_002", 3.16},
    {"regnety_006", 6.06},
    {"regnety_008", 6.26},
    {"regnety_032", 19.44},
    {"regnety_040", 20.65},
    {"regnety_064", 30.58},
};

TEST(TimmTest, ModelsHaveThePublishedParameterCounts) {
  for (const Published& published : kPublished) {
    const auto graph = build_model(published.name);
    ASSERT_TRUE(graph) << graph.error().to_string();
    EXPECT_NEAR(static_cast<double>(graph->parameter_count()) / 1e6, published.parameters, 0.00501) << published.name;
  }
}

TEST(TimmTest, OtherStemsAndBlocksAreNotMistakenForThoseOfTheZoo) {
  for (const char* name :
       {"resnet26", "resnet14t", "resnet50d", "resnet50_gn", "resnext26ts", "seresnet50", "vgg12", "mobilenetv2_110d",
        "tf_mobilenetv3_large_minimal_100", "semnasnet_100", "mnasnet_small", "efficientnet_b9",
        "efficientnet_b0_g8_gn", "efficientnetv2_rw_s", "regnetz_040", "regnety_040_sgn", "convnextv2_tiny", "", "."}) {
    EXPECT_FALSE(zoo::timm_cnn_model(name)) << name;
  }
}

TEST(TimmTest, TagsAreIgnoredAndParametersAdded) {
  EXPECT_EQ(zoo::timm_cnn_model("resnet50.a1_in1k"), "resnet:depth=50");
  const auto small = parse_model("mobilenetv2_050:input=96");
  ASSERT_TRUE(small);
  EXPECT_EQ(small->name, "mobilenetv2_050:input=96");
  EXPECT_EQ(small->parameters.number("width"), 0.5);
  EXPECT_EQ(small->parameters.integer("input"), 96);
  EXPECT_EQ(build_model("mobilenetv2_050:inptu=96").error().to_string(),
            "model mobilenet_v2: unknown option \"inptu\"; did you mean \"input\"?");
}

TEST(TimmTest, WhatEndsLikeAFileIsNoTag) {
  for (const char* name : {"resnet50.yaml", "resnet50.job.yaml", "resnet50.onnx", "resnet50.", "resnet50.A1"}) {
    EXPECT_FALSE(parse_model(name)) << name;
  }
  EXPECT_TRUE(parse_model("vit_base_patch16_224.mae"));
  EXPECT_TRUE(parse_model("resnet50.a1_in1k:input=160"));
}

TEST(TimmTest, ThePrefixDecidesWhereTorchvisionHasTheSameName) {
  EXPECT_EQ(parse_model("efficientnet_b3")->parameters.integer("input"), 300);
  EXPECT_EQ(parse_model("timm/efficientnet_b3")->parameters.integer("input"), 288);
  EXPECT_EQ(build_model("timm/lenet").error().code(), ErrorCode::kNotFound);
}

TEST(TimmTest, LongNamesAreRefused) {
  EXPECT_FALSE(zoo::timm_cnn_model("resnext50_" + std::string(100000, '1') + "x4d"));
}

}  // namespace
}  // namespace orrery::workload
