#include "predict/scaling/steps_estimate.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

using Law = std::function<double(double step)>;

std::vector<LossPoint> losses_of(const Law& law, int count, double distance, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<LossPoint> points;
  for (int i = 1; i <= count; ++i) {
    points.push_back({i * distance, law(i * distance) * std::exp(noise * random.normal())});
  }
  return points;
}

// Σ (w (curve − loss) / largest)², w 1, 4 and 16 by thirds: what the fit minimises.
double squares(const std::vector<LossPoint>& points, double largest, double b0, double b1, double b2) {
  double sum = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double weight = i < (points.size() + 2) / 3 ? 1 : i < (2 * points.size() + 2) / 3 ? 4 : 16;
    const double value = 1 / std::max(1e-12, b0 * points[i].step + b1) + b2;
    sum += std::pow(weight * (value - points[i].loss / largest), 2);
  }
  return sum;
}

// A search that shares nothing with the fit: a grid over all three coefficients, narrowed again and again.
double least_squares_on_a_grid(const std::vector<LossPoint>& points, double largest, double least) {
  constexpr int kCells = 12;
  struct Range {
    double low, high;
  };
  const double last = points.back().step;
  Range b0{std::log(1e-4 / last), std::log(1e3 / last)}, b1{std::log(1e-3), std::log(1e3)}, b2{0, least / largest};
  double best = kNever;
  for (int round = 0; round < 14; ++round) {
    double at0 = b0.low, at1 = b1.low, at2 = b2.low;
    for (int i = 0; i <= kCells; ++i) {
      for (int j = 0; j <= kCells; ++j) {
        for (int k = 0; k <= kCells; ++k) {
          const double x = b0.low + (b0.high - b0.low) * i / kCells, y = b1.low + (b1.high - b1.low) * j / kCells;
          const double z = b2.low + (b2.high - b2.low) * k / kCells;
          const double sum = squares(points, largest, std::exp(x), std::exp(y), z);
          if (sum > best) continue;
          best = sum;
          at0 = x;
          at1 = y;
          at2 = z;
        }
      }
    }
    const auto narrow = [](Range& range, double at) {
      const double half = 0.3 * (range.high - range.low);
      range = {at - half, at + half};
    };
    narrow(b0, at0);
    narrow(b1, at1);
    narrow(b2, at2);
    b2.low = std::max(0.0, b2.low);
  }
  return best;
}

TEST(StepsEstimate, TheCurveIsNearlyAsGoodAsTheBestOfAGrid) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    const double slope = random.uniform(0.05, 1), start = random.uniform(0.5, 3), floor = random.uniform(0, 0.5);
    // Without noise from a loss to the next: what the fit does to stray losses is not the question here.
    const auto points = losses_of(
        [&](double k) { return 5 * (1 / (slope * k + start) + floor) + 0.02 * std::sin(k / 3); }, 30, 1, 0, seed);
    double largest = 0, least = kNever;
    for (const LossPoint& point : points) {
      largest = std::max(largest, point.loss);
      least = std::min(least, point.loss);
    }
    const ConvergenceCurve curve = fit_convergence(points).value();
    const double own = squares(points, curve.scale, curve.b0, curve.b1, curve.b2);
    EXPECT_LE(own, 1.1 * least_squares_on_a_grid(points, largest, least) + 1e-9) << seed;
  }
}

RC_GTEST_PROP(StepsEstimate, TheTargetIsReachedWhereTheCurveSaysSo, ()) {
  const ConvergenceCurve curve{.b0 = *rc::gen::inRange(1, 1000) / 1e3,
                               .b1 = *rc::gen::inRange(0, 1000) / 1e2,
                               .b2 = *rc::gen::inRange(0, 1000) / 1e3,
                               .scale = *rc::gen::inRange(1, 1000) / 1e1};
  const double target = *rc::gen::inRange(1, 2000) / 1e1;
  const double step = reached_step(curve, target);
  if (!std::isfinite(step)) {
    RC_ASSERT(curve.floor() >= target * (1 - 1e-9));
    return;
  }
  RC_ASSERT(curve.loss(step) <= target * (1 + 1e-9));
  if (step > 1) RC_ASSERT(curve.loss(0.99 * step) > target * (1 - 1e-9));
}

// Units change nothing: losses times c give the same steps, steps times c give c times as many.
RC_GTEST_PROP(StepsEstimate, FollowsTheUnits, ()) {
  const auto seed = static_cast<std::uint64_t>(*rc::gen::inRange(1, 1000));
  const double factor = std::pow(2, *rc::gen::inRange(-8, 9));
  const Law law = [](double k) { return 3 * (1 / (0.2 * k + 1) + 0.1); };
  const std::vector<LossPoint> points = losses_of(law, 20, 1, 0.02, seed);
  std::vector<LossPoint> scaled = points, stretched = points;
  for (LossPoint& point : scaled) point.loss *= factor;
  for (LossPoint& point : stretched) point.step *= factor;
  const double plain = reached_step(fit_convergence(points).value(), 0.5);
  const double other = reached_step(fit_convergence(scaled).value(), 0.5 * factor);
  RC_ASSERT(plain == other || std::abs(other / plain - 1) < 1e-6);
  const double longer = reached_step(fit_convergence(stretched).value(), 0.5);
  RC_ASSERT(plain == longer || std::abs(longer / plain / factor - 1) < 1e-6);
}

TEST(StepsEstimate, TheAnswerIsInItsIntervalAndALowerTargetTakesLonger) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const int count = 3 + static_cast<int>(2 * seed);
    const auto points = losses_of([](double k) { return 2 / std::sqrt(k) + 0.3; }, count, 10, 0.05, seed);
    double before = 0;
    for (const double target : {1.0, 0.5, 0.4}) {
      const StepsEstimate estimate = estimate_steps(points, {.target = target}, 1).value();
      EXPECT_LE(estimate.low, estimate.step);
      EXPECT_LE(estimate.step, estimate.high);
      EXPECT_GE(estimate.low, 0);
      EXPECT_GE(estimate.step, before);
      before = estimate.step;
    }
  }
}

struct Coverage {
  int inside = 0, all = 0;
  double share() const { return static_cast<double>(inside) / all; }
};

// From the first losses: when is the loss at `ahead` times as many steps reached?
Coverage coverage_of(const Law& law, double noise, double ahead) {
  constexpr int kLosses = 40;
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    const auto points = losses_of(law, kLosses, 5, noise, seed);
    const double truth = ahead * points.back().step;
    const StepsEstimate estimate = estimate_steps(points, {.target = law(truth)}, seed).value();
    ++coverage.all;
    if (estimate.low <= truth && truth <= estimate.high) ++coverage.inside;
  }
  return coverage;
}

TEST(StepsEstimate, TheIntervalHoldsFourOfFiveOfItsOwnFormAndMostOfOthers) {
  const Law own = [](double k) { return 2 * (1 / (0.05 * k + 0.5) + 0.2); };
  const Law power = [](double k) { return 3 * std::pow(k, -0.4) + 0.2; };
  const Law exponential = [](double k) { return 1.5 * std::exp(-k / 150) + 0.4; };
  for (const double noise : {0.003, 0.03}) {
    for (const double ahead : {1.3, 2.0}) {
      EXPECT_GE(coverage_of(own, noise, ahead).share(), 0.75) << noise << " " << ahead;
      EXPECT_GE(coverage_of(power, noise, ahead).share(), 0.6) << noise << " " << ahead;
      EXPECT_GE(coverage_of(exponential, noise, ahead).share(), 0.6) << noise << " " << ahead;
    }
  }
}

TEST(StepsEstimate, WhatIsReachedIsInsideTheLosses) {
  const auto points = losses_of([](double k) { return 1 / (0.1 * k + 0.5); }, 50, 1, 0.01, 3);
  const StepsEstimate estimate = estimate_steps(points, {.target = 0.5}, 1).value();
  EXPECT_FALSE(estimate.was_forecast());
  EXPECT_NEAR(estimate.step, 15, 1);  // 1 / (0.1 k + 0.5) = 0.5
  EXPECT_LT(estimate.high - estimate.low, 3);
}

TEST(StepsEstimate, ATargetBelowTheFloorIsNeverReached) {
  const auto points = losses_of([](double k) { return 1 / (0.1 * k + 0.5) + 0.4; }, 50, 1, 0.001, 3);
  const StepsEstimate estimate = estimate_steps(points, {.target = 0.2}, 1).value();
  EXPECT_EQ(estimate.step, kNever);
  EXPECT_EQ(estimate.high, kNever);
  EXPECT_NEAR(estimate.curve.floor(), 0.4, 0.02);
}

TEST(StepsEstimate, FewLossesBoundNothing) {
  const auto points = losses_of([](double k) { return 1 / (0.1 * k + 0.5); }, 4, 1, 0, 3);
  EXPECT_EQ(estimate_steps(points, {.target = 0.5}, 1).value().high, kNever);
}

TEST(StepsEstimate, ManyLossesAreAveraged) {
  const Law law = [](double k) { return 1 / (0.001 * k + 0.5) + 0.1; };
  const StepsEstimate estimate = estimate_steps(losses_of(law, 20'000, 1, 0.1, 5), {.target = 0.13}, 1).value();
  EXPECT_EQ(estimate.losses, 20'000U);
  EXPECT_NEAR(estimate.step / 32'833, 1, 0.1);  // 1 / (0.001 k + 0.5) = 0.03
}

TEST(StepsEstimate, TheSameSeedGivesTheSameInterval) {
  const auto points = losses_of([](double k) { return 1 / (0.1 * k + 0.5) + 0.4; }, 30, 1, 0.05, 3);
  const StepsEstimate one = estimate_steps(points, {}, 7).value(), two = estimate_steps(points, {}, 7).value();
  EXPECT_EQ(one.low, two.low);
  EXPECT_EQ(one.high, two.high);
}

}  // namespace
}  // namespace orrery::predict
