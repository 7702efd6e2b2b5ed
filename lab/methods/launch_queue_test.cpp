#include "lab/methods/launch_queue.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "lab/lab.h"

namespace orrery::lab {
namespace {

QueuedOperator op(double device, double interval) {
  QueuedOperator queued;
  queued.device = device;
  queued.interval = interval;
  queued.last_share = 0;
  return queued;
}

TEST(LaunchQueue, ASlowHostSetsTheTime) {
  // Launches every 100, kernels of 5: from the first start to the last end 9 intervals and a kernel.
  const std::vector<QueuedOperator> operators(10, op(5, 100));
  EXPECT_DOUBLE_EQ(run_launch_queue(operators).iteration, 9 * 100 + 5);
}

TEST(LaunchQueue, ASlowDeviceSetsTheTime) {
  const std::vector<QueuedOperator> operators(10, op(100, 5));
  EXPECT_DOUBLE_EQ(run_launch_queue(operators).iteration, 10 * 100);
  EXPECT_DOUBLE_EQ(run_launch_queue(operators).busy, 1);
}

TEST(LaunchQueue, HiddenKernelsCountWhereTheDeviceIsBusyAndNotBehindTheLast) {
  std::vector<QueuedOperator> operators(3, op(100, 5));
  for (QueuedOperator& one : operators) one.hidden = 10;
  EXPECT_DOUBLE_EQ(run_launch_queue(operators).iteration, 3 * 100 + 2 * 10);
}

TEST(LaunchQueue, AtASynchronisationTheHostWaitsForTheDevice) {
  std::vector<QueuedOperator> operators = {op(1000, 5), op(10, 5)};
  operators[1].synchronises = true;
  operators[1].behind = 50;
  // The second kernel starts when the first has ended, the host has gone on and launched it.
  EXPECT_DOUBLE_EQ(run_launch_queue(operators, {.latency = 11}).iteration, 1000 + 50 + 11 + 10);
}

TEST(LaunchQueue, KernelsOfOneOperatorWaitForTheirLaunches) {
  std::vector<QueuedOperator> operators = {op(20, 500), op(20, 500)};
  operators[0].launch = 300;
  operators[0].last_share = 1;
  // The first operator ends at launch + 300 + 20, before the second is launched at 500.
  EXPECT_DOUBLE_EQ(run_launch_queue(operators, {.latency = 0}).iteration, 500 + 20);
  operators[0].launch = 600;
  EXPECT_DOUBLE_EQ(run_launch_queue(operators, {.latency = 0}).iteration, 600 + 20 + 20);
}

TEST(LaunchQueue, AFullQueueHoldsTheHostBack) {
  // A host that could run far ahead in the slow first half has no head start in the second, where it is the slow one.
  std::vector<QueuedOperator> operators;
  for (int i = 0; i < 100; ++i) operators.push_back(op(100, 1));
  for (int i = 0; i < 100; ++i) operators.push_back(op(1, 50));
  const double free = run_launch_queue(operators, {.depth = 1'000'000, .iterations = 1}).iteration;
  const double held = run_launch_queue(operators, {.depth = 4, .iterations = 1}).iteration;
  EXPECT_LT(free, 100 * 100 + 101);
  EXPECT_GT(held, free + 90 * 49);
}

TEST(LaunchQueue, TakesAtLeastTheDeviceTimeAndNoLessWhenAnythingIsSlower) {
  Random random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<QueuedOperator> operators;
    double device = 0;
    for (int i = 0; i < 30; ++i) {
      operators.push_back(op(random.uniform(1, 200), random.uniform(1, 200)));
      operators.back().synchronises = random.below(5) == 0;
      operators.back().behind = 20;
      device += operators.back().device;
    }
    const double before = run_launch_queue(operators).iteration;
    EXPECT_GE(before, device - 1e-6);
    operators[random.below(30)].device += 50;
    // One more slow operator in every iteration: the steady iteration cannot get shorter than the device's work.
    EXPECT_GE(run_launch_queue(operators).iteration, device + 50 - 1e-6);
  }
}

TEST(LaunchQueue, OfNothingIsNothing) {
  EXPECT_EQ(run_launch_queue({}).iteration, 0);
}

}  // namespace
}  // namespace orrery::lab
