#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"
#include "predict/scaling/convergence.h"
#include "predict/scaling/ps_formula.h"

namespace orrery::predict {
namespace {

double synchronous_speed(double p, double w) {
  return 1 / (0.8 / w + 0.1 + 0.05 * w / p + 0.002 * w + 0.001 * p);
}
double asynchronous_speed(double p, double w) {
  return w / (0.3 + 0.05 * w / p + 0.01 * w + 0.002 * p);
}

TEST(PsFormula, FiveSamplesGiveTheLawBack) {
  for (const bool is_synchronous : {true, false}) {
    const auto law = is_synchronous ? synchronous_speed : asynchronous_speed;
    const Synchrony synchrony = is_synchronous ? Synchrony::kSynchronous : Synchrony::kAsynchronous;
    std::vector<PsSample> samples;
    for (const auto& [p, w] : {std::pair{1.0, 1.0}, {1.0, 4.0}, {4.0, 1.0}, {4.0, 8.0}, {8.0, 3.0}, {2.0, 10.0}}) {
      samples.push_back({p, w, law(p, w)});
    }
    const PsFormula model = PsFormula::fit(samples, synchrony, BatchRule::kShared).value();
    for (double p = 1; p <= 10; ++p) {
      for (double w = 1; w <= 10; ++w) EXPECT_NEAR(model.speed(p, w) / law(p, w), 1, 1e-6);
    }
  }
}

TEST(PsFormula, TheNextTrialIsWhereFitsDisagree) {
  const std::vector<PsSample> samples = {{1, 1, synchronous_speed(1, 1)},
                                         {1, 2, synchronous_speed(1, 2)},
                                         {2, 1, synchronous_speed(2, 1)},
                                         {2, 2, synchronous_speed(2, 2)}};
  const std::vector<PsSample> candidates = {{1, 1}, {2, 2}, {1, 20}};
  EXPECT_EQ(PsFormula::next_trial(samples, candidates, Synchrony::kSynchronous, BatchRule::kShared).value(), 2U);
}

TEST(PsFormula, NeedsPositiveSpeeds) {
  const std::vector<PsSample> samples = {{1, 1, 0}, {1, 2, 1}};
  EXPECT_FALSE(PsFormula::fit(samples, Synchrony::kSynchronous, BatchRule::kShared));
  EXPECT_FALSE(PsFormula::fit({}, Synchrony::kSynchronous, BatchRule::kShared));
}

std::vector<LossPoint> losses(double noise, std::uint64_t seed, int count) {
  Random random(seed);
  std::vector<LossPoint> points;
  for (int k = 1; k <= count; ++k) {
    points.push_back({static_cast<double>(k), 7 * (1 / (0.3 * k + 1.2) + 0.15) * (1 + noise * random.normal())});
  }
  return points;
}

TEST(Convergence, GivesTheCurveBack) {
  const ConvergenceCurve curve = fit_convergence(losses(0, 1, 30)).value();
  for (const double k : {1.0, 10.0, 30.0, 100.0, 1000.0}) {
    EXPECT_NEAR(curve.loss(k) / (7 * (1 / (0.3 * k + 1.2) + 0.15)), 1, 0.01) << k;
  }
}

TEST(Convergence, AStrayLossDoesLittle) {
  std::vector<LossPoint> points = losses(0, 1, 30);
  points[14].loss *= 5;
  EXPECT_NEAR(fit_convergence(points)->loss(60) / losses(0, 1, 60).back().loss, 1, 0.02);
}

TEST(Convergence, SaysWhatIsWrong) {
  EXPECT_FALSE(fit_convergence(losses(0, 1, 2)));
  std::vector<LossPoint> points = losses(0, 1, 5);
  points[2].loss = -1;
  EXPECT_EQ(fit_convergence(points).error().message(), "loss 3 is not a number above 0");
  points = losses(0, 1, 5);
  points[3].step = 1;
  EXPECT_EQ(fit_convergence(points).error().message(), "step 4 does not come after the one before");
}

}  // namespace
}  // namespace orrery::predict
