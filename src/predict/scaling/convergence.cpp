#include "predict/scaling/convergence.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace orrery::predict {

namespace {

constexpr int kSearchSteps = 60;
constexpr double kRatioMax = 1e15;  // beyond, differences of losses are lost in rounding

Status check(std::span<const LossPoint> points) {
  if (points.size() < kLossPointsMin) {
    return Error::invalid(fmt::format("{} losses; {} are needed", points.size(), kLossPointsMin));
  }
  double least = std::numeric_limits<double>::infinity(), largest = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(points[i].loss > 0) || !std::isfinite(points[i].loss)) {
      return Error::invalid(fmt::format("loss {} is not a number above 0", i + 1));
    }
    if (i > 0 && !(points[i].step > points[i - 1].step)) {
      return Error::invalid(fmt::format("step {} does not come after the one before", i + 1));
    }
    least = std::min(least, points[i].loss);
    largest = std::max(largest, points[i].loss);
  }
  if (largest / least > kRatioMax) {
    return Error::invalid(fmt::format("the largest loss is more than {:g} times the least", kRatioMax));
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

// Weighted sums of what is to be fitted: y = b0 k + b1.
struct LineSums {
  double weight = 0, step = 0, target = 0;  // means of k and y
  double step_squares = 0, products = 0;    // around these

  // As if k began at 0 and y were 0 there: for lines through the origin.
  double raw_squares() const { return step_squares + weight * step * step; }
  double raw_products() const { return products + weight * step * target; }
};

LineSums sums_of(const std::vector<LossPoint>& points, const std::vector<double>& targets,
                 const std::vector<double>& weights) {
  LineSums sums;
  for (std::size_t i = 0; i < points.size(); ++i) sums.weight += weights[i];
  for (std::size_t i = 0; i < points.size(); ++i) {
    sums.step += weights[i] / sums.weight * points[i].step;
    sums.target += weights[i] / sums.weight * targets[i];
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double step = points[i].step - sums.step, target = targets[i] - sums.target;
    sums.step_squares += weights[i] * step * step;
    sums.products += weights[i] * step * target;
  }
  return sums;
}

// Least squares of two coefficients that may not be negative. The best free line is the answer if neither is negative;
// otherwise the answer lies on an edge: a line through the origin, or a level one. A convex problem: if the free slope
// is negative the level line is best, if the free intercept is, the line through the origin.
std::pair<double, double> non_negative_line(const LineSums& sums) {
  const double slope = sums.step_squares > 0 ? sums.products / sums.step_squares : 0;
  const double intercept = sums.target - slope * sums.step;
  if (slope >= 0 && intercept >= 0) return {slope, intercept};
  if (slope < 0) return {0, std::max(0.0, sums.target)};
  return {sums.raw_squares() > 0 ? std::max(0.0, sums.raw_products() / sums.raw_squares()) : 0, 0};
}

// Later thirds weigh 1, 4 and 16 times as much before they are squared.
std::vector<double> importance_of(std::size_t points) {
  constexpr double kWeights[] = {1, 4, 16};
  std::vector<double> importance;
  for (std::size_t i = 0; i < points; ++i) importance.push_back(kWeights[3 * i / points]);
  return importance;
}

// The best b0 and b1 for a given b2, of losses scaled to at most 1.
Candidate fit_slope(const std::vector<LossPoint>& points, const std::vector<double>& importance, double b2,
                    double scale) {
  std::vector<double> inverses(points.size()), weights(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double above = points[i].loss / scale - b2;
    inverses[i] = 1 / above;
    // An error of 1 / above is above² times one of the loss.
    const double weight = importance[i] * above * above;
    weights[i] = weight * weight;
  }
  const auto [b0, b1] = non_negative_line(sums_of(points, inverses, weights));
  Candidate candidate{{b0, b1, b2, scale}, 0};
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
  const std::vector<double> importance = importance_of(smooth.size());
  const auto at = [&](double b2) { return fit_slope(smooth, importance, b2, largest); };
  double best_b2 = 0;
  Candidate best = at(0);
  for (int i = 1; i <= kSearchSteps; ++i) {
    const double b2 = top * i / kSearchSteps;
    const Candidate candidate = at(b2);
    if (candidate.error < best.error) {
      best = candidate;
      best_b2 = b2;
    }
  }
  double low = std::max(0.0, best_b2 - top / kSearchSteps), high = std::min(top, best_b2 + top / kSearchSteps);
  for (int i = 0; i < kSearchSteps; ++i) {
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    const Candidate a = at(left), b = at(right);
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

double reached_step(const ConvergenceCurve& curve, double loss) {
  const double above = loss / curve.scale - curve.b2;
  if (!(above > 0)) return kNever;
  const double needed = 1 / above - curve.b1;  // b0 · k
  if (needed <= 0) return 0;
  return curve.b0 > 0 ? needed / curve.b0 : kNever;
}

}  // namespace orrery::predict
