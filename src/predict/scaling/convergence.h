#pragma once
// When training will have converged, from the losses so far (Optimus, EuroSys 2018):
//
//   l(k) = 1 / (b0 · k + b1) + b2          b0, b1, b2 ≥ 0; k: step or epoch
//
// 1. Losses are divided by the largest; one outside the range of its neighbours becomes the nearer of them.
// 2. For a fixed b2 the curve is linear in 1 / (l − b2): non-negative least squares, later thirds of the points
//    weighing 1, 16 and 256 times as much. b2 is searched between 0 and the least loss.
// 3. Converged is the first k after which the curve falls by at most `threshold` of the first loss over `window` more.
// The interval comes from curves fitted to all points but one block of eight (a jackknife), which shows how stable the
// answer is, not how correct the form.

#include <span>

#include "base/result.h"

namespace orrery::predict {

struct LossPoint {
  double step = 0;  // rising
  double loss = 0;  // above 0
};

struct ConvergenceCurve {
  double b0 = 0, b1 = 0, b2 = 0;
  double scale = 1;  // the largest loss
  double loss(double step) const;
};

struct ConvergenceRule {
  double threshold = 0.05;
  double window = 10;
  double step_max = 1e9;
};

struct ConvergenceEstimate {
  ConvergenceCurve curve;
  double step = 0;           // at which it will have converged
  double low = 0, high = 0;  // four of five
};

inline constexpr std::size_t kLossPointsMin = 3;

Result<ConvergenceCurve> fit_convergence(std::span<const LossPoint> points);
double converged_step(const ConvergenceCurve& curve, const ConvergenceRule& rule);
Result<ConvergenceEstimate> estimate_convergence(std::span<const LossPoint> points, const ConvergenceRule& rule);

}  // namespace orrery::predict
