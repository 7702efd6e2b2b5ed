#pragma once
// What a measured launch trace shows about host and device separately: which intervals of the host were its own and not
// a wait for the device, and which gaps of the device were kernels without a row and not a wait for the host.

#include <vector>

#include "predict/ets/launch_features.h"

namespace orrery::predict {

struct LaunchFacts {
  double launched = 0;          // by the host, since its first launch
  double started = 0;           // its first kernel, since the host's first launch
  bool host_is_free = false;    // `interval` is host time
  bool device_is_full = false;  // `gap` is device time
};

// By operator of the context's trace, which must be a measured one.
std::vector<LaunchFacts> launch_facts(const LaunchContext& context);

}  // namespace orrery::predict
