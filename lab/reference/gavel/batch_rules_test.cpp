// Batches that change while jobs train.

#include "lab/reference/gavel/batch_rules.h"

#include <gtest/gtest.h>

#include "lab/lab.h"

namespace orrery::lab {
namespace {

TEST(BatchRules, ModelsAreRead) {
  const auto model = parse_batched_model("ResNet-18 (batch size 32)");
  ASSERT_TRUE(model.has_value());
  EXPECT_EQ(model->model, "ResNet-18");
  EXPECT_EQ(model->batch, 32);
  EXPECT_EQ(to_string(*model), "ResNet-18 (batch size 32)");
  EXPECT_FALSE(parse_batched_model("ResNet-18").has_value());
  EXPECT_FALSE(parse_batched_model("ResNet-18 (batch size x)").has_value());
  EXPECT_FALSE(parse_batch_rule("accordeon").has_value());
}

// 50,000 pictures in batches of 32: 1,563 steps.
TEST(BatchRules, StepsOfAnEpoch) {
  EXPECT_EQ(steps_in_epoch({"ResNet-18", 32}), 1563);
  EXPECT_EQ(steps_in_epoch({"nobody knows", 32}), 0);
}

TEST(BatchRules, AccordionTakesTheLargestOutsideOfCriticalEpochs) {
  const BatchedModel first = {"ResNet-50", 16}, large = {"ResNet-50", 128};
  const auto wanted = [&](const BatchedModel& now, std::int64_t epoch) {
    return wanted_batch(BatchRule::kAccordion, first, now, 1, epoch);
  };
  EXPECT_EQ(wanted(first, 9), 16);
  EXPECT_EQ(wanted(first, 10), 128);
  EXPECT_EQ(wanted(large, 29), 128);
  EXPECT_EQ(wanted(large, 30), 16);
  EXPECT_EQ(wanted_batch(BatchRule::kAccordion, {"Transformer", 16}, {"Transformer", 16}, 1, 500), 16);
}

TEST(BatchRules, NoiseScaleDoublesUpToTheLargest) {
  const BatchedModel first = {"LM", 20};
  const auto wanted = [&](int now, std::int64_t epoch) {
    return wanted_batch(BatchRule::kNoiseScale, first, {"LM", now}, 1, epoch);
  };
  EXPECT_EQ(wanted(20, 9), 20);
  EXPECT_EQ(wanted(20, 10), 40);  // for the next epoch
  EXPECT_EQ(wanted(40, 30), 40);
  EXPECT_EQ(wanted(20, 50), 40);  // one doubling at a time
  EXPECT_EQ(wanted(40, 50), 80);
  EXPECT_EQ(wanted(80, 500), 80);
  EXPECT_EQ(wanted_batch(BatchRule::kStatic, first, first, 1, 500), 20);
}

// 3,500 steps of 4,096: 121 epochs of 29. With 8,192 an epoch has 15, and half of the steps would be 117 epochs: 1,815.
// Of 30 steps done the second epoch was begun: 2 x 15.
TEST(BatchRules, EpochsStay) {
  const StepCount steps = recounted({3500, 30}, {"Recommendation", 4096}, {"Recommendation", 8192});
  EXPECT_EQ(steps.total, 1815);
  EXPECT_EQ(steps.done, 30);
}

}  // namespace
}  // namespace orrery::lab
