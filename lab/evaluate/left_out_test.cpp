#include "lab/evaluate/left_out.h"

#include <gtest/gtest.h>

#include "lab/lab.h"
#include "predict/analytic/analytic.h"

namespace orrery::lab {
namespace {

// Cases of fold "a" are predicted right, those of fold "b" at half of the truth.
std::vector<LeftOut> two_folds() {
  std::vector<LeftOut> all;
  for (int i = 0; i < 20; ++i) {
    all.push_back({.one = {.measured = 10, .predicted = 10}, .fold = "a"});
    all.push_back({.one = {.measured = 10, .predicted = 5}, .fold = "b"});
  }
  return all;
}

TEST(LeftOut, AnIntervalComesFromTheOtherFoldsOnly) {
  const auto cases = calibrated_cases(two_folds()).value();
  ASSERT_EQ(cases.size(), 40U);
  EXPECT_NEAR(cases[0].low, 20, 1e-9) << "fold b was half of the truth";
  EXPECT_NEAR(cases[1].high, 5, 1e-9) << "fold a was right";
}

TEST(LeftOut, WhatDoesNotCalibrateStillGetsAnInterval) {
  std::vector<LeftOut> all = two_folds();
  all.push_back({.one = {.measured = 1, .predicted = 1000}, .fold = "a", .calibrates = false});
  const auto cases = calibrated_cases(all).value();
  EXPECT_NEAR(cases[1].high, 5, 1e-9);
  EXPECT_GT(cases.back().high, 1000);
}

TEST(LeftOut, OneFoldAloneCannotBeCalibrated) {
  EXPECT_FALSE(calibrated_cases(std::vector<LeftOut>{{.one = {.measured = 1, .predicted = 1}, .fold = "a"}}));
}

TEST(LeftOut, OutsideTheDomainAnIntervalIsAtLeastTheFormulas) {
  std::vector<CalibrationPair> pairs(60, {.predicted = 10, .measured = 10});
  const Conformal exact = Conformal::fit(pairs).value();
  const Case inside = with_interval({.measured = 10, .predicted = 10, .in_domain = true}, exact);
  EXPECT_NEAR(inside.high / inside.low, 1, 1e-9);
  const Case outside = with_interval({.measured = 10, .predicted = 10, .in_domain = false}, exact);
  EXPECT_NEAR(outside.low, 10 * kFormulaLow, 1e-9);
  EXPECT_NEAR(outside.high, 10 * kFormulaHigh, 1e-9);
}

}  // namespace
}  // namespace orrery::lab
