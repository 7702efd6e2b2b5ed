#include "lab/methods/scaled_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "predict/regression/least_squares.h"

namespace orrery::lab {

namespace {

constexpr double kLeastTime = 1e-9;  // seconds
constexpr std::size_t kTerms = 5;

std::array<double, kTerms> terms(const ScaledRun& run) {
  const double k = run.replicas;
  return {run.alone_s, k > 1 ? 1.0 : 0.0, k > 1 ? run.batch : 0.0, (k - 1) / k, k - 1};
}

Status check(const ScaledRun& run) {
  if (!(run.batch > 0 && run.replicas >= 1 && run.alone_s > 0)) {
    return Error::invalid("a run needs a batch, a GPU and its time on one GPU");
  }
  return {};
}

}  // namespace

Result<double> scaled_seconds(std::span<const ScaledRun> known, const ScaledRun& like) {
  ORRERY_TRY_VOID(check(like));
  const bool same_only =
      std::any_of(known.begin(), known.end(), [&](const ScaledRun& run) { return run.replicas == like.replicas; });
  std::vector<std::vector<double>> columns(kTerms);
  std::vector<double> seconds, weights;
  for (const ScaledRun& run : known) {
    ORRERY_TRY_VOID(check(run));
    if (!(run.seconds > 0)) return Error::invalid("the time of a known run must be above 0");
    if (same_only && run.replicas != like.replicas) continue;
    const std::array<double, kTerms> values = terms(run);
    for (std::size_t i = 0; i < kTerms; ++i) columns[i].push_back(values[i]);
    seconds.push_back(run.seconds);
    weights.push_back(std::exp2(-std::abs(std::log2(run.batch / like.batch))) / run.seconds);
  }
  Design design;
  for (std::size_t i = 0; i < kTerms; ++i) design.add(std::to_string(i), std::move(columns[i]));
  ORRERY_TRY(const LinearFit fit, non_negative_least_squares(design, seconds, weights));
  const std::array<double, kTerms> values = terms(like);
  double time = 0;
  for (std::size_t i = 0; i < kTerms; ++i) time += fit.coefficients[i] * values[i];
  return std::max(time, kLeastTime);
}

}  // namespace orrery::lab
