#include "lab/evaluate/left_out.h"

#include <algorithm>
#include <map>

#include "base/random.h"
#include "predict/analytic/analytic.h"

namespace orrery::lab {

namespace {

constexpr double kMillisecond = 1e3;  // per second

}  // namespace

std::string random_fold(std::string_view key, std::uint64_t seed) {
  return std::to_string(Random(seed).split(key).below(kRandomFolds));
}

LeftOut left_out_of(std::string group, double measured_s, double predicted_s, std::string fold) {
  LeftOut left_out;
  left_out.one.group = std::move(group);
  left_out.one.measured = measured_s * kMillisecond;
  left_out.one.predicted = predicted_s * kMillisecond;
  left_out.fold = std::move(fold);
  return left_out;
}

Result<Conformal> calibrate(std::span<const LeftOut> left_out, Folds folds, std::string_view fold) {
  std::vector<CalibrationPair> pairs;
  for (const LeftOut& other : left_out) {
    if (!other.calibrates || (!fold.empty() && other.fold == fold)) continue;
    pairs.push_back(
        {other.one.predicted, other.one.measured, other.kind, folds == Folds::kUnlike ? other.fold : std::string()});
  }
  return Conformal::fit(pairs);
}

Case with_interval(Case one, const Conformal& conformal, std::string_view kind) {
  const Interval interval = conformal.interval(one.predicted, kind);
  one.low = interval.low;
  one.high = interval.high;
  if (one.in_domain.value_or(true)) return one;
  one.low = std::min(one.low, one.predicted * kFormulaLow);
  one.high = std::max(one.high, one.predicted * kFormulaHigh);
  return one;
}

Result<std::vector<Case>> calibrated_cases(std::span<const LeftOut> left_out, Folds folds) {
  std::map<std::string_view, Conformal> conformals;
  std::vector<Case> cases;
  for (const LeftOut& one : left_out) {
    const auto [place, is_new] = conformals.try_emplace(one.fold);
    if (is_new) {
      ORRERY_TRY(place->second, calibrate(left_out, folds, one.fold));
    }
    cases.push_back(with_interval(one.one, place->second, one.kind));
  }
  return cases;
}

}  // namespace orrery::lab
