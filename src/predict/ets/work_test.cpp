#include "predict/ets/work.h"

#include <gtest/gtest.h>

namespace orrery::predict {
namespace {

using workload::Phase;

LaunchedOperator with(std::vector<std::int32_t> parameters, Phase phase = Phase::kForward) {
  LaunchedOperator op;
  op.parameters = std::move(parameters);
  op.phase = phase;
  return op;
}

TEST(LaunchWork, OfAConvolution) {
  // 8 images of 64 channels 16 × 16, 128 filters 3 × 3, stride 1, padding 1.
  const auto forward = with({8, 64, 16, 16, 128, 16, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, 4});
  const LaunchWork work = work_of(forward, WorkClass::kConvolution);
  EXPECT_EQ(work.flops, 2.0 * 8 * 128 * 16 * 16 * 64 * 9);
  EXPECT_EQ(work.bytes, 4.0 * (8 * 64 * 256 + 8 * 128 * 256 + 128 * 64 * 9));
  EXPECT_EQ(work.parameter_bytes, 4.0 * 128 * 64 * 9);
  auto grouped = forward;
  grouped.parameters[15] = 64;
  EXPECT_EQ(work_of(grouped, WorkClass::kConvolution).flops, work.flops / 64);
  auto backward = forward;
  backward.phase = Phase::kBackward;
  EXPECT_EQ(work_of(backward, WorkClass::kConvolution).flops, 2 * work.flops);
}

TEST(LaunchWork, OfALinearLayer) {
  const auto op = with({4, 32, 7, 512, 0, 0, 0, 0, 0, 0, 4, 1000, 512, 0, 0, 0, 0, 0, 0, 0, 4, 1000});
  const LaunchWork work = work_of(op, WorkClass::kLinear);
  EXPECT_EQ(work.flops, 2.0 * 32 * 7 * 512 * 1000);
  EXPECT_EQ(work.parameter_bytes, 4.0 * (1000 * 512 + 1000));
}

TEST(LaunchWork, OfAMatrixProduct) {
  const auto op = with({4, 8, 12, 49, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 8, 12, 32, 49});
  EXPECT_EQ(work_of(op, WorkClass::kMatmul).flops, 2.0 * 8 * 12 * 49 * 32 * 49);
}

TEST(LaunchWork, OfElementsIsWhatTheProfilerCountedOrTheTensor) {
  auto op = with({4, 8, 64, 16, 16});
  EXPECT_EQ(work_of(op, WorkClass::kElementwise).bytes, 4.0 * 2 * 8 * 64 * 256);
  op.bytes = 123456;
  EXPECT_EQ(work_of(op, WorkClass::kElementwise).bytes, 123456);
}

TEST(LaunchWork, OfABatchNormWithoutShapeComesFromTheProfilersBytes) {
  auto op = with({4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4});
  op.bytes = 16 * 1000;
  EXPECT_EQ(work_of(op, WorkClass::kBatchNorm).elements, 1000);
}

TEST(LaunchWork, OfAnOperatorWithoutParametersComesFromItsGrid) {
  LaunchedOperator op;
  op.grid = 10;
  op.block = 128;
  EXPECT_EQ(work_of(op, WorkClass::kCopy).elements, 10 * 128 * 4);
}

TEST(WorkClass, OfFrameworkNames) {
  EXPECT_EQ(work_class_of("conv2d"), WorkClass::kConvolution);
  EXPECT_EQ(work_class_of("__matmul__"), WorkClass::kMatmul);
  EXPECT_EQ(work_class_of("adaptive_avg_pool2d"), WorkClass::kPool);
  EXPECT_EQ(work_class_of("aten::clone"), WorkClass::kCopy);
  EXPECT_EQ(work_class_of("unknown"), WorkClass::kElementwise);
}

}  // namespace
}  // namespace orrery::predict
