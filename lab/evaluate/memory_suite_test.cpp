#include "lab/evaluate/memory_suite.h"

#include <gtest/gtest.h>

#include "lab/lab.h"

namespace orrery::lab {
namespace {

constexpr const char* kHeader = "model,batch_size,max_gpu_memory_mib,faketensor_peak_mib\n";

TEST(MemorySuite, NumbersThatCannotBeBatchesAreRefusedWithTheirLine) {
  for (const char* batch : {"0", "-4", "1e83", "nan", "eight", "11111111111111111111111111111111"}) {
    const auto result = score_memory(std::string(kHeader) + "resnet18," + batch + ",2153,205\n");
    ASSERT_FALSE(result) << batch;
    EXPECT_NE(result.error().to_string().find("line 2: batch_size: expected a number above 0"), std::string::npos)
        << result.error().to_string();
  }
}

TEST(MemorySuite, ARunThatNeedsLessThanASmallerBatchHasFailed) {
  const auto report = score_memory(std::string(kHeader) +
                                   "resnet18,8,2153,205\nresnet18,16,2500,300\nresnet18,32,900,500\nnosuch,8,1,1\n");
  ASSERT_TRUE(report);
  ASSERT_EQ(report->rows.size(), 2U);
  EXPECT_EQ(report->rows[0].score.cases, 2U);
  EXPECT_EQ(report->rows[1].group, "FakeTensor");
  EXPECT_EQ(report->rows[1].more.at(0).second, 1) << "all below what was measured";
  EXPECT_NE(report->notes.at(0).find("1 runs that ended early, 1 models"), std::string::npos);
}

TEST(MemorySuite, OnePeakForAllBatchesIsThatOfRunsThatFailed) {
  const std::string flat = "resnet50,8,2183,1144\nresnet50,16,2183,2224\nresnet50,32,2190,4397\n";
  const auto report = score_memory(std::string(kHeader) + "resnet18,8,2153,205\nresnet18,16,2500,300\n" + flat);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->rows[0].score.cases, 2U);
  EXPECT_NE(report->notes.at(0).find("3 runs that ended early"), std::string::npos) << report->notes[0];
  // A full device shows the same peak for every batch that does not fit.
  const auto full = score_memory(std::string(kHeader) + "resnet50,512,40400,1\nresnet50,1024,40400,2\n");
  ASSERT_TRUE(full);
  EXPECT_EQ(full->rows[0].score.cases, 2U);
}

}  // namespace
}  // namespace orrery::lab
