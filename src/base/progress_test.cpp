#include "base/progress.h"

#include <gtest/gtest.h>
#include <vector>

namespace orrery {
namespace {

// Collects what is written, on a clock moved by hand.
class ProgressTest : public testing::Test {
 protected:
  ProgressOptions options(bool terminal, std::string unit = "") {
    return {.terminal = terminal,
            .sink = [this](std::string_view text) { written_.emplace_back(text); },
            .now = [this] { return now_; },
            .unit = std::move(unit)};
  }

  Seconds now_{100};
  std::vector<std::string> written_;
};

TEST_F(ProgressTest, LogsOneLinePerTenthAndAClosingLine) {
  Progress progress("profiling", 1000, options(false, "steps"));
  for (int i = 0; i < 1000; ++i) {
    now_ += Seconds(0.05);
    progress.advance(1);
  }
  progress.finish();
  ASSERT_EQ(written_.size(), 10u);
  EXPECT_EQ(written_[0], "profiling: 10 % (100 of 1.00 k steps), 20.0 steps/s, 45.0 s left\n");
  EXPECT_EQ(written_[9], "profiling: done, 1.00 k steps in 50.0 s (20.0 steps/s)\n");
}

TEST_F(ProgressTest, WhatBeginsSaysSoAtOnce) {
  Progress logged("fitting", 6, options(false, "fits"));
  logged.begin();
  Progress shown("fitting", 6, options(true, "fits"));
  shown.begin();
  Progress unknown("training", 0, options(false));
  unknown.begin();
  ASSERT_EQ(written_.size(), 3u);
  EXPECT_EQ(written_[0], "fitting: 6 fits to do\n");
  EXPECT_EQ(written_[1], "\rfitting    0 %  0 of 6 fits\x1b[K");
  EXPECT_EQ(written_[2], "training\n");
}

TEST_F(ProgressTest, AJumpOverSeveralTenthsLogsOnce) {
  Progress progress("reading", 10, options(false));
  now_ += Seconds(1);
  progress.advance(5);
  ASSERT_EQ(written_.size(), 1u);
  EXPECT_EQ(written_[0], "reading: 50 % (5 of 10), 5/s, 1.00 s left\n");
}

TEST_F(ProgressTest, WorkOfAnEarlierRunIsNotPartOfTheRate) {
  Progress progress("measuring", 100, options(false, "visits"));
  progress.skip(50);
  EXPECT_TRUE(written_.empty());
  for (int i = 0; i < 10; ++i) {
    now_ += Seconds(1);
    progress.advance(1);
  }
  ASSERT_EQ(written_.size(), 1u);
  EXPECT_EQ(written_[0], "measuring: 60 % (60 of 100 visits), 1 visits/s, 40.0 s left\n");
  progress.finish();
  EXPECT_EQ(written_.back(), "measuring: done, 10 visits in 10.0 s (1 visits/s)\n");
}

TEST_F(ProgressTest, TheTerminalLineIsRewrittenAtMostTenTimesASecond) {
  Progress progress("training", 1000, options(true));
  for (int i = 1; i <= 1000; ++i) {
    now_ = Seconds(100 + i / 1000.0);
    progress.advance(1);
  }
  EXPECT_GE(written_.size(), 9u);
  EXPECT_LE(written_.size(), 11u);
  for (const std::string& text : written_) {
    EXPECT_EQ(text.front(), '\r');
    EXPECT_EQ(text.find('\n'), std::string::npos);
  }
  progress.finish();
  EXPECT_EQ(written_.back(), "\rtraining: done, 1.00 k in 1.00 s (1.00 k/s)\x1b[K\n");
}

TEST_F(ProgressTest, TheTerminalLineShowsPercentRateAndTimeLeft) {
  Progress progress("training", 200, options(true, "steps"));
  now_ += Seconds(4);
  progress.advance(50);
  EXPECT_EQ(written_.back(), "\rtraining   25 %  50 of 200 steps  12.5 steps/s  ETA 12.0 s\x1b[K");
}

TEST_F(ProgressTest, UnknownTotalShowsCountAndRate) {
  Progress progress("parsing", 0, options(true, "jobs"));
  now_ += Seconds(2);
  progress.advance(30);
  EXPECT_EQ(written_.back(), "\rparsing  30 jobs  15 jobs/s\x1b[K");
}

TEST_F(ProgressTest, AbandonedWorkEndsItsTerminalLine) {
  {
    Progress progress("training", 10, options(true));
    progress.advance(1);
  }
  EXPECT_EQ(written_.back(), "\n");
}

TEST_F(ProgressTest, FinishingTwiceAndLateWorkSayNothingMore) {
  Progress progress("empty", 0, options(false));
  progress.finish();
  progress.finish();
  progress.advance(3);
  ASSERT_EQ(written_.size(), 1u);
  EXPECT_EQ(written_[0], "empty: done, 0 in 0 s\n");
}

TEST_F(ProgressTest, WorkBeyondTheTotalIsShownAsComplete) {
  Progress progress("over", 10, options(true));
  now_ += Seconds(1);
  progress.advance(25);
  EXPECT_EQ(written_.back(), "\rover  100 %  25 of 10  25/s\x1b[K");
}

TEST(ProgressSilentTest, WithoutASinkNothingIsWritten) {
  Progress progress("quiet", 1, {.now = [] { return Seconds(0); }});
  progress.advance(1);
  progress.finish();
  EXPECT_EQ(progress.done(), 1);
}

}  // namespace
}  // namespace orrery
