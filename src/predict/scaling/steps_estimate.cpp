#include "predict/scaling/steps_estimate.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace orrery::predict {

namespace {

constexpr double kShareOutside = 0.1;  // at each end of the interval
constexpr double kPrefixes[] = {0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
constexpr double kLaterPoints[] = {0.25, 0.5, 0.75, 1};  // of what is behind a prefix
constexpr std::size_t kPrefixMin = 5;                    // losses
constexpr double kLeastExtrapolation = 1.05;             // k / m: below, e is noise over nothing

// Means of groups of neighbours, all of nearly the same size.
std::vector<LossPoint> grouped(std::span<const LossPoint> points) {
  if (points.size() <= kLossGroups) return {points.begin(), points.end()};
  std::vector<LossPoint> means(kLossGroups);
  std::vector<double> counts(kLossGroups);
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::size_t group = i * kLossGroups / points.size();
    counts[group] += 1;
    means[group].step += (points[i].step - means[group].step) / counts[group];
    means[group].loss += (points[i].loss - means[group].loss) / counts[group];
  }
  return means;
}

double answer_of(const ConvergenceCurve& curve, const StepsQuestion& question) {
  return question.target ? reached_step(curve, *question.target) : converged_step(curve, question.rule);
}

// Precondition: not empty. The value of that rank from 1, of values that may be infinite.
double ranked(std::vector<double> values, double rank) {
  std::sort(values.begin(), values.end());
  const double last = static_cast<double>(values.size());
  return values[static_cast<std::size_t>(std::clamp(rank, 1.0, last)) - 1];
}

struct Reach {
  double low = 0, high = 0;
};

Result<Reach> noise_reach(const std::vector<LossPoint>& points, const ConvergenceCurve& curve,
                          const StepsQuestion& question, std::uint64_t seed) {
  std::vector<double> residuals;
  for (const LossPoint& point : points) residuals.push_back(std::log(point.loss / curve.loss(point.step)));
  const auto block = static_cast<std::size_t>(std::max(1.0, std::round(std::cbrt(static_cast<double>(points.size())))));
  std::vector<double> answers;
  for (std::size_t refit = 0; refit < kRefits; ++refit) {
    Random random = Random(seed).split("refit").split(refit);
    std::vector<LossPoint> drawn = points;
    for (std::size_t begin = 0; begin < drawn.size(); begin += block) {
      const std::size_t from = random.below(residuals.size() - std::min(block, residuals.size()) + 1);
      for (std::size_t i = begin; i < std::min(begin + block, drawn.size()); ++i) {
        drawn[i].loss = curve.loss(drawn[i].step) * std::exp(residuals[from + i - begin]);
      }
    }
    ORRERY_TRY(const ConvergenceCurve other, fit_convergence(drawn));
    answers.push_back(answer_of(other, question));
  }
  const double ranks = static_cast<double>(answers.size()) + 1;
  return Reach{ranked(answers, std::floor(ranks * kShareOutside)),
               ranked(answers, std::ceil(ranks * (1 - kShareOutside)))};
}

// |ln(p / k)| / ln(k / m) of every forecast that the losses can tell.
Result<std::vector<double>> forecast_errors(const std::vector<LossPoint>& points, const ConvergenceCurve& curve) {
  std::vector<double> errors;
  for (const double share : kPrefixes) {
    const auto known = static_cast<std::size_t>(share * static_cast<double>(points.size()));
    if (known < kPrefixMin || known >= points.size()) continue;
    ORRERY_TRY(const ConvergenceCurve before, fit_convergence(std::span(points).first(known)));
    const double last = points[known - 1].step;
    std::size_t previous = known - 1;
    for (const double part : kLaterPoints) {
      const auto later =
          known - 1 + static_cast<std::size_t>(std::ceil(part * static_cast<double>(points.size() - known)));
      if (later == previous || !(last > 0) || points[later].step < kLeastExtrapolation * last) continue;
      previous = later;
      // The curve of all losses says what the loss there was: a single one is mostly noise.
      const double said = reached_step(before, curve.loss(points[later].step));
      const double error = said > 0 ? std::abs(std::log(said / points[later].step)) : kNever;
      errors.push_back(error / std::log(points[later].step / last));
    }
  }
  return errors;
}

}  // namespace

Result<StepsEstimate> estimate_steps(std::span<const LossPoint> points, const StepsQuestion& question,
                                     std::uint64_t seed) {
  const std::vector<LossPoint> groups = grouped(points);
  ORRERY_TRY(const ConvergenceCurve curve, fit_convergence(groups));
  StepsEstimate estimate{.curve = curve, .step = answer_of(curve, question), .last = points.back().step};
  estimate.losses = points.size();
  for (const LossPoint& point : groups) {
    estimate.fit_error += std::pow(curve.loss(point.step) / point.loss - 1, 2) / static_cast<double>(groups.size());
  }
  estimate.fit_error = std::sqrt(estimate.fit_error);
  ORRERY_TRY(const Reach noise, noise_reach(groups, curve, question, seed));
  estimate.low = std::min(noise.low, estimate.step);
  estimate.high = std::max(noise.high, estimate.step);
  if (!estimate.was_forecast()) return estimate;
  ORRERY_TRY(std::vector<double> errors, forecast_errors(groups, curve));
  estimate.forecasts = errors.size();
  if (!errors.empty()) {
    const double ranks = static_cast<double>(errors.size()) + 1;
    const double q = ranked(std::move(errors), std::ceil(ranks * (1 - 2 * kShareOutside)));
    estimate.forecast_error = q;
    const double beyond = std::log(estimate.step / std::max(estimate.last, 1.0));
    if (beyond > 0 && std::isfinite(estimate.step)) {
      estimate.low = std::min(estimate.low, estimate.step * std::exp(-q * beyond));
      estimate.high = std::max(estimate.high, estimate.step * std::exp(q * beyond));
    }
  } else {
    estimate.high = kNever;  // too few losses to check any forecast: nothing bounds it
  }
  estimate.low = std::max(estimate.low, std::min(estimate.last, estimate.step));
  return estimate;
}

}  // namespace orrery::predict
