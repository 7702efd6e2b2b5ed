#include "predict/scaling/convergence.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/statistics.h"
#include "predict/regression/least_squares.h"

namespace orrery::predict {

namespace {

constexpr int kSearchSteps = 60;
constexpr std::size_t kBlocks = 8;

Status check(std::span<const LossPoint> points) {
  if (points.size() < kLossPointsMin) {
    return Error::invalid(fmt::format("{} losses; {} are needed", points.size(), kLossPointsMin));
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(points[i].loss > 0) || !std::isfinite(points[i].loss)) {
      return Error::invalid(fmt::format("loss {} is not a number above 0", i + 1));
    }
    if (i > 0 && !(points[i].step > points[i - 1].step)) {
      return Error::invalid(fmt::format("step {} does not come after the one before", i + 1));
    }
  }
  return {};
}

// Each loss becomes the middle one of itself and its neighbours.
std::vector<LossPoint> without_outliers(std::span<const LossPoint> points) {
  std::vector<LossPoint> smooth(points.begin(), points.end());
  for (std::size_t i = 1; i + 1 < points.size(); ++i) {
    const double before = points[i - 1].loss, after = points[i + 1].loss;
    smooth[i].loss = std::clamp(points[i].loss, std::min(before, after), std::max(before, after));
  }
  return smooth;
}

struct Candidate {
  ConvergenceCurve curve;
  double error = 0;  // weighted squares of losses
};

// The best b0 and b1 for a given b2, of losses scaled to at most 1.
Result<Candidate> fit_slope(const std::vector<LossPoint>& points, double b2, double scale) {
  std::vector<double> steps, ones(points.size(), 1.0), inverses, weights, importance;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double above = points[i].loss / scale - b2;
    const double third = std::floor(3.0 * static_cast<double>(i) / static_cast<double>(points.size()));
    importance.push_back(std::pow(4.0, third));
    steps.push_back(points[i].step);
    inverses.push_back(1 / above);
    weights.push_back(importance.back() * above * above);  // an error of 1 / above is above² times one of the loss
  }
  Design design;
  design.add("step", std::move(steps));
  design.add("1", std::move(ones));
  ORRERY_TRY(const LinearFit fit, non_negative_least_squares(design, inverses, weights));
  Candidate candidate{{fit.coefficients[0], fit.coefficients[1], b2, scale}, 0};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double error = importance[i] * (candidate.curve.loss(points[i].step) - points[i].loss) / scale;
    candidate.error += error * error;
  }
  return candidate;
}

}  // namespace

double ConvergenceCurve::loss(double step) const {
  return scale * (1 / std::max(1e-12, b0 * step + b1) + b2);
}

Result<ConvergenceCurve> fit_convergence(std::span<const LossPoint> points) {
  ORRERY_TRY_VOID(check(points));
  const std::vector<LossPoint> smooth = without_outliers(points);
  double largest = 0, least = std::numeric_limits<double>::infinity();
  for (const LossPoint& point : smooth) {
    largest = std::max(largest, point.loss);
    least = std::min(least, point.loss);
  }
  // A grid first: the error may have several valleys; then the best cell is narrowed.
  const double top = least / largest * (1 - 1e-6);
  const auto at = [&](double b2) { return fit_slope(smooth, b2, largest); };
  double best_b2 = 0;
  ORRERY_TRY(Candidate best, at(0));
  for (int i = 1; i <= kSearchSteps; ++i) {
    const double b2 = top * i / kSearchSteps;
    ORRERY_TRY(Candidate candidate, at(b2));
    if (candidate.error < best.error) {
      best = candidate;
      best_b2 = b2;
    }
  }
  double low = std::max(0.0, best_b2 - top / kSearchSteps), high = std::min(top, best_b2 + top / kSearchSteps);
  for (int i = 0; i < kSearchSteps; ++i) {
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    ORRERY_TRY(const Candidate a, at(left));
    ORRERY_TRY(const Candidate b, at(right));
    (a.error < b.error ? high : low) = a.error < b.error ? right : left;
    if (a.error < best.error) best = a;
    if (b.error < best.error) best = b;
  }
  return best.curve;
}

double converged_step(const ConvergenceCurve& curve, const ConvergenceRule& rule) {
  const double enough = rule.threshold * curve.scale;
  const auto falls_little = [&](double step) { return curve.loss(step) - curve.loss(step + rule.window) <= enough; };
  if (falls_little(0)) return 0;
  double low = 0, high = rule.window;
  while (high < rule.step_max && !falls_little(high)) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < 100 && high - low > 1e-6 * high; ++i) {
    const double middle = (low + high) / 2;
    (falls_little(middle) ? high : low) = middle;
  }
  return std::min(high, rule.step_max);
}

Result<ConvergenceEstimate> estimate_convergence(std::span<const LossPoint> points, const ConvergenceRule& rule) {
  ORRERY_TRY(const ConvergenceCurve curve, fit_convergence(points));
  ConvergenceEstimate estimate{curve, converged_step(curve, rule), 0, 0};
  std::vector<double> steps;
  const std::size_t blocks = std::min(kBlocks, points.size());
  for (std::size_t block = 0; block < blocks; ++block) {
    std::vector<LossPoint> others;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (i * blocks / points.size() != block) others.push_back(points[i]);
    }
    if (others.size() < kLossPointsMin) continue;
    ORRERY_TRY(const ConvergenceCurve other, fit_convergence(others));
    steps.push_back(converged_step(other, rule));
  }
  // Jackknife: the deviation of the answer is (g − 1)/g · Σ (answer without a block − their mean)².
  double variance = 0;
  if (steps.size() >= 2) {
    const auto count = static_cast<double>(steps.size());
    double mean = 0;
    for (const double step : steps) mean += step / count;
    for (const double step : steps) variance += (step - mean) * (step - mean) * (count - 1) / count;
  }
  const double degrees = std::max(1.0, static_cast<double>(steps.size()) - 1);
  const double reach = student_quantile(0.9, degrees) * std::sqrt(variance);
  estimate.low = std::max(0.0, estimate.step - reach);
  estimate.high = estimate.step + reach;
  return estimate;
}

}  // namespace orrery::predict
