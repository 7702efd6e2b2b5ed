#pragma once
// Time. `wall` is for people and for matching records of other systems; every duration is measured with `monotonic`.

#include "base/units.h"

namespace orrery::env {

class Clock {
 public:
  virtual ~Clock() = default;

  // Time since 1970-01-01 UTC. May jump when somebody sets the machine's clock.
  virtual Seconds wall() const = 0;
  // Time since an arbitrary start. Never goes back.
  virtual Seconds monotonic() const = 0;
  // Returns after `duration`; at once if it is not positive.
  virtual void sleep(Seconds duration) = 0;
};

}  // namespace orrery::env
