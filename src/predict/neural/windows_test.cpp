#include "predict/neural/windows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "predict/neural/standard_score.h"

namespace orrery::predict {
namespace {

TEST(Windows, EndWithTheFirstThatNeedsPadding) {
  EXPECT_EQ(window_starts(14, 12, 3), (std::vector<std::size_t>{0, 3}));     // 3 + 12 > 14
  EXPECT_EQ(window_starts(15, 12, 3), (std::vector<std::size_t>{0, 3, 6}));  // 3 + 12 = 15 is full
  EXPECT_EQ(window_starts(5, 12, 3), (std::vector<std::size_t>{0}));
  EXPECT_EQ(window_starts(24, 12, 12), (std::vector<std::size_t>{0, 12}));
  EXPECT_TRUE(window_starts(0, 12, 3).empty());
}

RC_GTEST_PROP(Windows, HoldEveryRow, ()) {
  const auto rows = *rc::gen::inRange<std::size_t>(1, 200);
  const auto width = *rc::gen::inRange<std::size_t>(1, 30);
  const auto stride = *rc::gen::inRange<std::size_t>(1, width + 1);
  std::vector<int> held(rows);
  for (const std::size_t start : window_starts(rows, width, stride)) {
    RC_ASSERT(start < rows);
    for (std::size_t i = start; i < std::min(rows, start + width); ++i) ++held[i];
  }
  RC_ASSERT(std::all_of(held.begin(), held.end(), [](int count) { return count > 0; }));
}

// Three rows, windows of two at 0, 1 and 2: row 1 has the answers 2 and 4, so 3; row 2 has 6 and 10, so 8. The last
// window's second row, 99, is padding.
TEST(WindowMean, AveragesWhatOverlapsAndLeavesOutPadding) {
  WindowMean mean(3, 1);
  mean.add(0, std::vector<double>{1, 2});
  mean.add(1, std::vector<double>{4, 6});
  mean.add(2, std::vector<double>{10, 99});
  EXPECT_DOUBLE_EQ(mean.mean(0, 0), 1);
  EXPECT_DOUBLE_EQ(mean.mean(1, 0), 3);
  EXPECT_DOUBLE_EQ(mean.mean(2, 0), 8);
}

// Columns 1, 2, 3 (deviation √(2/3)) and 5, 5, 5 (constant).
TEST(StandardScore, CentresAndScalesColumns) {
  StandardScore score(2);
  for (const float value : {1.0F, 2.0F, 3.0F}) score.add(std::array{value, 5.0F});
  ASSERT_TRUE(score.settle().has_value());
  EXPECT_NEAR(score.score(3, 0), 1 / std::sqrt(2.0 / 3), 1e-6);
  EXPECT_EQ(score.score(5, 1), 0);
  EXPECT_NEAR(score.value(score.score(1.7F, 0), 0), 1.7, 1e-6);
  ByteWriter out;
  score.write(out);
  ByteReader in(out.bytes());
  EXPECT_EQ(StandardScore::read(in).value().score(3, 0), score.score(3, 0));
}

TEST(StandardScore, RefusesNothingAndNotANumber) {
  EXPECT_FALSE(StandardScore(1).settle().has_value());
  StandardScore score(1);
  score.add(std::array{std::nanf("")});
  EXPECT_FALSE(score.settle().has_value());
}

}  // namespace
}  // namespace orrery::predict
