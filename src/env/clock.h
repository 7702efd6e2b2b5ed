#pragma once
// Time. `wall` is for people and for matching records of other systems; every duration is measured with `monotonic`.

#include <cstdint>
#include <optional>

#include "base/units.h"

namespace orrery::env {

class Clock {
 public:
  virtual ~Clock() = default;

  // Time since 1970-01-01 UTC. May jump when the machine's clock is set.
  virtual Seconds wall() const = 0;
  // Time since an arbitrary start. Never goes back.
  virtual Seconds monotonic() const = 0;
  // How long the threads of a process have run, together. Nothing if there is no such process, or no such knowledge.
  virtual std::optional<Seconds> processor_time(std::int64_t /*process*/) const { return std::nullopt; }
  // Returns after `duration`; at once if it is not positive.
  virtual void sleep(Seconds duration) = 0;
};

}  // namespace orrery::env
