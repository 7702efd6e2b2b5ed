#include "schedule/step_curve.h"

#include <cmath>
#include <iterator>

#include "base/check.h"

namespace orrery::schedule {

double interpolated(int gpus, std::pair<int, double> low, std::pair<int, double> high) {
  const double share =
      std::log(static_cast<double>(gpus) / low.first) / std::log(static_cast<double>(high.first) / low.first);
  return low.second * std::pow(high.second / low.second, share);
}

StepCurve::StepCurve(std::map<int, double> step_s) : known_(std::move(step_s)) {
  ORRERY_CHECK(!known_.empty() && known_.begin()->first >= 1);
  double shortest = known_.begin()->second;
  most_ = known_.begin()->first;
  for (const auto& [gpus, time_s] : known_) {
    ORRERY_CHECK(time_s > 0);
    if (time_s >= shortest) continue;
    shortest = time_s;
    most_ = gpus;
  }
}

double StepCurve::step_s(int gpus) const {
  const auto next = known_.lower_bound(gpus);
  if (next == known_.end()) return known_.rbegin()->second;
  if (next->first == gpus) return next->second;
  if (next == known_.begin()) return next->second * next->first / gpus;
  return interpolated(gpus, *std::prev(next), *next);
}

}  // namespace orrery::schedule
