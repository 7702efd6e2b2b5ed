#pragma once
// How many GPUs were busy and how many jobs waited, over time, in bounded memory.

#include <algorithm>

#include "simulate/engine.h"

namespace orrery::simulate {

// Keeps at most kPointsMax points: when full, every second one is removed, and points must be twice as far apart from
// then on.
class UtilisationSeries {
 public:
  static constexpr std::size_t kPointsMax = 4096;

  void add(const UtilisationPoint& point) {
    if (points_.empty() || point.at_ns - points_.back().at_ns >= std::max<TimeNs>(apart_ns_, 1)) return append(point);
    const TimeNs at = points_.back().at_ns;
    points_.back() = point;
    points_.back().at_ns = at;
  }
  std::vector<UtilisationPoint> take() && { return std::move(points_); }

 private:
  void append(const UtilisationPoint& point);

  std::vector<UtilisationPoint> points_;
  TimeNs apart_ns_ = 0;
};

}  // namespace orrery::simulate
