#pragma once
// How fast this core is right now, compared with the fastest it has been.
//
// On a virtual machine a neighbour on the same physical core, or on the same cache, can slow vector code down by a
// third or more for seconds at a time, while nothing in this machine shows it: no load, no other process, scalar code
// at full speed. A pass over a quarter of a megabyte that stays in the core's own cache feels the neighbour: it takes a
// tenth of a millisecond, so one before and one after a step tell whether the step was slowed.

#include <vector>

#include "env/clock.h"

namespace orrery::profile {

class CoreProbe {
 public:
  // Takes a second to learn how fast the core can be.
  explicit CoreProbe(const env::Clock& clock);

  // The time of the fastest of three passes over the fastest ever: about 1 on an undisturbed core.
  double slowness();

 private:
  double pass();  // seconds

  const env::Clock& clock_;
  std::vector<float> values_;
  double fastest_ = 0;
};

}  // namespace orrery::profile
