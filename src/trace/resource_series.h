#pragma once
// ResourceSeries: one resource as it was sampled over time, for example the utilisation of a device.

#include <string>
#include <vector>

#include "base/units.h"

namespace orrery::trace {

struct ResourceSeries {
  std::string name;            // "gpu_utilization"
  std::string unit;            // "%"
  std::vector<Seconds> times;  // of the samples, never decreasing; on any clock
  std::vector<double> values;  // as many as times, all finite
};

}  // namespace orrery::trace
