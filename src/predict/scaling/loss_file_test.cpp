#include "predict/scaling/loss_file.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::predict {
namespace {

std::string error_of(std::string_view csv) {
  const auto file = parse_losses(csv, "losses.csv");
  return file ? "" : file.error().message();
}

TEST(LossFile, ReadsStepsAndLosses) {
  const LossFile file = parse_losses("time,Step, loss\n1,10,2.5\n2,20,1.5\n3,30,1e0\n", "f").value();
  ASSERT_EQ(file.points.size(), 3U);
  EXPECT_EQ(file.points[1].step, 20);
  EXPECT_EQ(file.points[2].loss, 1);
  EXPECT_FALSE(file.counts_epochs);
  EXPECT_TRUE(parse_losses("epoch,train_loss\n1,3\n2,2\n3,1\n", "f")->counts_epochs);
}

TEST(LossFile, ErrorsNameFileAndLine) {
  EXPECT_EQ(error_of(""), "losses.csv:1: expected a header with the columns step and loss; the file is empty");
  EXPECT_EQ(error_of("step,accuracy\n1,2\n"),
            "losses.csv:1: no column loss; the header needs step (or iteration, or epoch) and loss (or train_loss)");
  EXPECT_EQ(error_of("step,loss\n1,2\n2,nan\n"), "losses.csv:3: expected a loss above 0, got \"nan\"");
  EXPECT_EQ(error_of("step,loss\n1,2\n2,0\n"), "losses.csv:3: expected a loss above 0, got \"0\"");
  EXPECT_EQ(error_of("step,loss\n1,2\nx,1\n"), "losses.csv:3: expected a step from 0 to 1e+15, got \"x\"");
  EXPECT_EQ(error_of("step,loss\n5,2\n5,1\n"), "losses.csv:3: step 5 does not come after the step before, 5");
  EXPECT_EQ(error_of("step,loss\n5,2\n6\n"), "losses.csv:3: 1 fields; the header has 2");
  EXPECT_EQ(error_of("step,loss\n5,2\n6,1\n"), "losses.csv:3: 2 losses; 3 are needed");
}

RC_GTEST_PROP(LossFile, WhatIsWrittenIsRead, ()) {
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1000));
  std::string csv = "step,loss\n";
  std::vector<LossPoint> points;
  double step = 0;
  for (const int more : steps) {
    step += more;
    points.push_back({step, more / 8.0});
    csv += std::to_string(static_cast<std::int64_t>(step)) + "," + std::to_string(more / 8.0) + "\r\n";
  }
  const auto file = parse_losses(csv, "f");
  RC_ASSERT(file.has_value() == (points.size() >= kLossPointsMin));
  if (!file) return;
  RC_ASSERT(file->points.size() == points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    RC_ASSERT(file->points[i].step == points[i].step && file->points[i].loss == points[i].loss);
  }
}

}  // namespace
}  // namespace orrery::predict
