#include "predict/operators/operator_rows.h"

#include <gtest/gtest.h>

#include "predict/operators/operator_data.h"

namespace orrery::predict {
namespace {

const DeviceFacts kDevice{.name = "d", .peak = 1e13, .usable_peak = 1e13, .bandwidth = 1e12, .sms = 8, .l2_bytes = 4e6};

float feature(const PhysicalRow& row, const std::vector<std::string>& names, std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return row.features[i];
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(OperatorRows, AProductOfMatrices) {
  // 2 · 1024³ operations at 10 TFLOP/s: 0.2147 ms, more than 12.6 MB at 1 TB/s. 64 tiles of 128 × 128 on 8
  // multiprocessors are 8 full waves without padding.
  const auto names = product_feature_names();
  const PhysicalRow row = product_row({"bmm", 1, 1024, 1024, 1024}, kDevice);
  ASSERT_EQ(row.features.size(), names.size());
  EXPECT_NEAR(row.roof_ms, 0.2147, 1e-4);
  EXPECT_NEAR(feature(row, names, "waves_128x128"), 3, 1e-6);
  EXPECT_NEAR(feature(row, names, "filling_128x128"), 1, 1e-6);
  EXPECT_NEAR(feature(row, names, "padding_128x128"), 1, 1e-6);
  EXPECT_EQ(feature(row, names, "alignment_n"), 3);
}

TEST(OperatorRows, ASmallProductWastesTiles) {
  // 129 × 128 needs two tiles of 128 × 128, of which 129/256 is used, in a quarter of a wave.
  const auto names = product_feature_names();
  const PhysicalRow row = product_row({"linear", 1, 129, 7, 128}, kDevice);
  EXPECT_NEAR(feature(row, names, "padding_128x128"), 129.0 / 256, 1e-6);
  EXPECT_NEAR(feature(row, names, "filling_128x128"), 0.25, 1e-6);
  EXPECT_EQ(feature(row, names, "alignment_m"), 0);
}

TEST(OperatorRows, ElementwiseOperatorsMoveTheirOperands) {
  EXPECT_NEAR(elementwise_row({"add", 1000, 1000, 1, 1}, kDevice).roof_ms, 0.012, 1e-9);   // three tensors of 4 MB
  EXPECT_NEAR(elementwise_row({"relu", 1000, 1000, 1, 1}, kDevice).roof_ms, 0.008, 1e-9);  // two
  EXPECT_EQ(elementwise_row({"add", 10, 10, 1, 1}, kDevice).features.size(), elementwise_feature_names().size());
}

TEST(OperatorData, RowsAndTheirErrors) {
  const char* header = "OPName,Device,B,M,N,K,latency_ms,source\n";
  const auto rows = parse_operators(std::string(header) + "bmm,T4,2,3,4,5,0.5,train\nbmm,T4,2,3,4,5,0.7,test\n",
                                    OperatorClass::kBatchedProduct);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[0].shape.k, 5);
  EXPECT_TRUE((*rows)[0].is_random_sweep);
  EXPECT_FALSE((*rows)[1].is_random_sweep);
  for (const char* bad : {"bmm,T4,2,3,4,0,0.5,train\n", "bmm,T4,2,3,4,x,0.5,train\n", "bmm,T4,2,3,4,5,-1,train\n"}) {
    const auto wrong = parse_operators(std::string(header) + bad, OperatorClass::kBatchedProduct);
    ASSERT_FALSE(wrong);
    EXPECT_NE(wrong.error().to_string().find("line 2"), std::string::npos) << wrong.error().to_string();
  }
}

TEST(OperatorData, DevicesWithTheirFigures) {
  const auto devices = parse_devices(
      "Device,Mem_Bw,Num_Sm,L2Cache,file,SingleFLOPs,SingleFLOPsMM\n"
      "Tesla T4,320,40,4,Tesla_T4,8141.0,\nTesla T4,1,1,1,again,1,\nAMD Instinct MI100,1230,120,8,MI100,,46100\n");
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 2U);
  EXPECT_EQ((*devices)[0].files, (std::vector<std::string>{"Tesla_T4", "again"}));
  EXPECT_NEAR((*devices)[0].facts.usable_peak, 0.493 * 8.141e12, 1e10);  // held down by its 70 W
  EXPECT_NEAR((*devices)[1].facts.usable_peak, 46.1e12, 1e9);
}

}  // namespace
}  // namespace orrery::predict
