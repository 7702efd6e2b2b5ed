#pragma once
// How many GPUs were busy and how many jobs waited, over time, in bounded memory.

#include "simulate/engine.h"

namespace orrery::simulate {

// Keeps at most kPointsMax points: when full, every second one is removed, and points must be twice as far apart from
// then on.
class UtilisationSeries {
 public:
  static constexpr std::size_t kPointsMax = 4096;

  void add(const UtilisationPoint& point);
  std::vector<UtilisationPoint> take() && { return std::move(points_); }

 private:
  std::vector<UtilisationPoint> points_;
  TimeNs apart_ns_ = 0;
};

}  // namespace orrery::simulate
