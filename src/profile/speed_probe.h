#pragma once
// How slow the core is at this moment, measured by three small pieces of work of the kinds that training consists of.
//
// Virtual machines on the same processor share its caches, its memory and often the core itself. Nothing in this
// machine shows what they do, but it slows all work by nearly the same factor, by up to two and for seconds or minutes.
// The step time of a model divided by the slowness around it is what it would take on a quiet core, nearly: `orrery
// dataset check` shows how nearly. Not thread-safe.

#include <array>
#include <memory>

#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"

namespace orrery::profile {

// Times of a matrix product, of additions in the core's own cache, and of additions in memory.
using CoreReading = std::array<Seconds, 3>;

class SpeedProbe {
 public:
  virtual ~SpeedProbe() = default;
  virtual CoreReading read() = 0;  // about three milliseconds
};

// In the module of the executor (executor.h), with the library that runs the models. `clock` must outlive it.
Result<std::unique_ptr<SpeedProbe>> make_speed_probe(const env::Clock& clock);

// What a quiet core reads: of each piece the fast twentieth of what is read during `time`.
CoreReading quiet_reading(SpeedProbe& speed_probe, const env::Clock& clock, Seconds time);

// 1 on a core as fast as `quiet`, 2 on one that takes twice as long: the geometric mean of the pieces.
double slowness(const CoreReading& now, const CoreReading& quiet);

}  // namespace orrery::profile
