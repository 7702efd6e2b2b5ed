#include "predict/evaluate/memory.h"

#include <gtest/gtest.h>

namespace orrery::predict {
namespace {

constexpr const char* kHeader = "model,batch_size,max_gpu_memory_mib,faketensor_peak_mib\n";

TEST(EvaluateMemory, NumbersThatCannotBeBatchesAreRefusedWithTheirLine) {
  for (const char* batch : {"0", "-4", "1e83", "nan", "eight", "11111111111111111111111111111111"}) {
    const auto result = evaluate_memory(std::string(kHeader) + "resnet18," + batch + ",2153,205\n");
    ASSERT_FALSE(result) << batch;
    EXPECT_NE(result.error().to_string().find("line 2: batch_size: expected a number above 0"), std::string::npos)
        << result.error().to_string();
  }
}

}  // namespace
}  // namespace orrery::predict
