#pragma once
// How many steps a training needs, from the losses so far, and how sure that is.
//
// The answer is that of the curve fitted to all losses (convergence.h): the first step at which it is at a target, or
// at which it has converged. Its interval is to hold the truth four times of five. It is the wider of two:
//
//   noise      the curve's residuals (logarithms) are drawn again in blocks of n^(1/3) neighbours and put on the curve,
//              kRefits times; the curve is fitted to each. The 10th and 90th percentile of the answers. (Residual
//              bootstrap with blocks: Künsch 1989.)
//   forecasts  curves fitted to the first 30 % to 90 % of the losses say when the losses at the later points will be
//              reached. With k the step of a later point, p what was said of it and m the last step that was known,
//              e = |ln(p / k)| / ln(k / m) is the error per e-fold of extrapolation. With q the quantile of rank
//              ⌈0.8 (n + 1)⌉ of all e, an answer S beyond the last step L is between S · (S / L)^-q and S · (S / L)^q.
//
// The first knows nothing of a wrong form of the curve; the second measures it, as far as the losses go. What is not
// reached yet is not before the last step. An end that no refit reaches is kNever.

#include <optional>

#include "predict/scaling/convergence.h"

namespace orrery::predict {

struct StepsQuestion {
  std::optional<double> target{};  // the loss to be reached; empty: the rule
  ConvergenceRule rule{};
};

struct StepsEstimate {
  ConvergenceCurve curve{};
  double step = 0;           // kNever: the curve levels off above the target
  double low = 0, high = 0;  // four of five
  double last = 0;           // the last step there is a loss of
  double fit_error = 0;      // root of the mean squared relative error of the curve
  std::size_t losses = 0;
  std::size_t forecasts = 0;  // that could be checked
  double forecast_error = 0;  // q; 0 without forecasts
  bool was_forecast() const { return step > last; }
};

inline constexpr std::size_t kRefits = 100;
// More losses than these are averaged to as many groups of neighbours first.
inline constexpr std::size_t kLossGroups = 256;

// Fails as fit_convergence does. The same seed gives the same interval.
Result<StepsEstimate> estimate_steps(std::span<const LossPoint> points, const StepsQuestion& question,
                                     std::uint64_t seed);

}  // namespace orrery::predict
