#pragma once
// Time in this module and in `simulate`: whole nanoseconds since the start of a run, so that sums are exact and the
// same on every machine. Jobs are indices into the table of jobs, because policies look them up millions of times a
// second.

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/index.h"

namespace orrery::schedule {

using TimeNs = std::int64_t;
using JobIndex = Index<struct JobKind>;

inline constexpr TimeNs kSecondNs = 1'000'000'000;
inline constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();
inline constexpr JobIndex kNoJob{};

constexpr double to_seconds(TimeNs time) {
  return static_cast<double>(time) / 1e9;  // exact for whole seconds
}

// Rounded to the nearest nanosecond; `seconds` must be below kSecondsMax.
inline TimeNs from_seconds(double seconds) {
  return static_cast<TimeNs>(std::llround(seconds * 1e9));
}

// About 146 years: sums of two such times cannot overflow.
inline constexpr double kSecondsMax = 4.6e9;

}  // namespace orrery::schedule
