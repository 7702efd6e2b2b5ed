#include "lab/methods/layer_rows.h"

#include <gtest/gtest.h>

#include "lab/lab.h"

namespace orrery::lab {
namespace {

const DeviceFacts kDevice{
    .name = "d", .peak = 15e12, .usable_peak = 15e12, .bandwidth = 1e12, .sms = 8, .l2_bytes = 4e6};

TEST(LayerRows, ADenseForwardPass) {
  // mixed = √(1e12 · 15e12 / 15) = 1e12. 2 · 10 · 1000 · 1000 operations: 1.33 µs; input and output 40 kB each: 0.04
  // µs; weights 4 MB: 4 µs. roof = 1.2 · 1.33 + 6 · 0.08 + 2 · 4 = 10.08 µs.
  const Layer layer{.batch = 10, .inputs = 1000, .outputs = 1000};
  const PhysicalRow row = layer_row(layer, LayerClass::kDense, kDevice);
  EXPECT_NEAR(row.roof_ms, 0.01008, 1e-6);
  EXPECT_EQ(row.features.size(), layer_feature_names().size());
}

TEST(LayerRows, TrainingTakesMoreThanTheForwardPassAndAdamMoreThanSgd) {
  Layer layer{.batch = 8, .side = 32, .kernel = 3, .stride = 1, .same_padding = true, .inputs = 64, .outputs = 64};
  const double forward = layer_row(layer, LayerClass::kConvolution, kDevice).roof_ms;
  layer.optimizer = *optimizer_index("SGD");
  const double sgd = layer_row(layer, LayerClass::kConvolution, kDevice).roof_ms;
  layer.optimizer = *optimizer_index("Adam");
  const double adam = layer_row(layer, LayerClass::kConvolution, kDevice).roof_ms;
  EXPECT_GT(sgd, 2 * forward);
  EXPECT_GT(adam, sgd);
}

TEST(LayerRows, AKernelLargerThanTheImageStillHasAnOutput) {
  const Layer layer{.batch = 1, .side = 2, .kernel = 5, .stride = 1};
  EXPECT_GT(layer_row(layer, LayerClass::kConvolution, kDevice).roof_ms, 0);
}

TEST(LayerRows, FilesAndTheirErrors) {
  const std::string header = "batchsize,dim_input,dim_output,optimizer,activation,time_ms_median\n";
  const auto rows = parse_layers(header + "30,100,50,Adam,relu,2.5\n", LayerClass::kDense);
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0].layer.outputs, 50);
  EXPECT_EQ((*rows)[0].time_ms, 2.5);
  const auto wrong = parse_layers(header + "30,100,50,Adamo,relu,2.5\n", LayerClass::kDense);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().to_string(), "line 2: unknown optimizer \"Adamo\"");
}

}  // namespace
}  // namespace orrery::lab
