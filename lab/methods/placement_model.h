#pragma once
// The step time of a data-parallel job over its placements: how many replicas, on how many machines, with which batch.
//
//   prior = a + b · batch + c · [k > 1] + d · [n > 1] + e · (k − 1)/k + f · (n − 1)/n + g · (k − 1) + h · (n − 1)
//
// with coefficients ≥ 0 on relative errors: computation, the start of an exchange inside a machine and between
// machines, the bytes of a ring, and what grows with every replica. A time regression learns the rest from 30 samples
// on.

#include "lab/lab.h"
#include "predict/learn/time_regression.h"
#include "predict/regression/least_squares.h"

namespace orrery::lab {

struct PlacementSample {
  double replicas = 1;
  double nodes = 1;
  double fullest = 1;  // replicas on the node with most
  double batch = 1;    // of one replica
  double seconds = 0;  // of a step, above 0
};

class PlacementModel {
 public:
  static constexpr std::size_t kSamplesMin = 3;

  static Result<PlacementModel> fit(std::span<const PlacementSample> samples, std::uint64_t seed = 1);
  double seconds(const PlacementSample& placement) const;

 private:
  double prior(const PlacementSample& placement) const;

  LinearFit prior_;
  TimeRegression rest_;
};

}  // namespace orrery::lab
