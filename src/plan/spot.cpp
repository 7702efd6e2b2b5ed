#include "plan/spot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace orrery::plan {

namespace {

double segment_s(double rate, double restart_s, double length_s) {
  if (rate == 0) return length_s;
  return std::exp(rate * restart_s) * std::expm1(rate * length_s) / rate;
}

}  // namespace

SpotTime spot_time(Seconds work, int machines, const SpotRules& rules) {
  ORRERY_CHECK(work.value() >= 0 && machines >= 1 && rules.save_every.value() > 0);
  const double rate = rules.interruptions_per_h / 3600 * machines;
  const double every = rules.save_every.value(), restart = rules.restart.value();
  const double saves = std::max(0.0, std::ceil(work.value() / every) - 1);
  const double last = work.value() - saves * every;
  const double time =
      (saves > 0 ? saves * segment_s(rate, restart, every + rules.save.value()) : 0) + segment_s(rate, restart, last);
  if (!(time <= kSpotTimeMax.value())) {
    const double never = std::numeric_limits<double>::infinity();
    return {Seconds(never), never, Seconds(never)};
  }
  return {Seconds(time), rate * time, Seconds(time) - work};
}

}  // namespace orrery::plan
