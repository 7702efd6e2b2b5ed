#include "simulate/utilisation_series.h"

namespace orrery::simulate {

void UtilisationSeries::append(const UtilisationPoint& point) {
  points_.push_back(point);
  if (points_.size() < kPointsMax) return;
  for (std::size_t i = 0; 2 * i < points_.size(); ++i) points_[i] = points_[2 * i];
  points_.resize((points_.size() + 1) / 2);
  apart_ns_ = (points_.back().at_ns - points_.front().at_ns) / static_cast<TimeNs>(kPointsMax / 2);
}

}  // namespace orrery::simulate
