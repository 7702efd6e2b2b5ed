#pragma once
// The expected time of training on machines that can be taken back.
//
// Interruptions come at random, at a constant rate for every machine; the loss of one machine stops the whole run. Work
// is saved every τ seconds of it, which takes δ; after an interruption it continues from the last save, R later, and R
// itself can be interrupted. A segment of s seconds without an interruption then takes, on average, at the rate Λ of
// all machines together,
//
//   E(s) = exp(Λ·R)·(exp(Λ·s) − 1) / Λ                     E(s) = s without interruptions
//
// and work W is the segments τ + δ, τ + δ, … and the last one, which need not be saved. Interruptions: Λ·E. O(1).
// Source: Daly, A higher order estimate of the optimum checkpoint interval (2006), equation 13.

#include "base/units.h"

namespace orrery::plan {

struct SpotRules {
  double interruptions_per_h = 0.05;  // of one machine
  Seconds save_every{1800};           // τ, above 0
  Seconds save{30};                   // δ
  Seconds restart{300};               // R: until another machine is there and has read what was saved

  bool operator==(const SpotRules&) const = default;
};

struct SpotTime {
  Seconds time;  // expected; infinite if the work would hardly ever end
  double interruptions = 0;
  Seconds lost;  // of the time: saving, restarting, and work done again
};

// Longer than this counts as never.
inline constexpr Seconds kSpotTimeMax{1e10};

// Precondition: work and rules are not negative, machines at least 1.
SpotTime spot_time(Seconds work, int machines, const SpotRules& rules);

}  // namespace orrery::plan
