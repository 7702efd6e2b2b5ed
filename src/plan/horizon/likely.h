#pragma once
// Times that are not certain. The 80 % interval [low, high] of a time t is read as log-normal on either side of t
// (choice.h): the time at z standard deviations is
//
//   t·exp(z·ln(high/t) / 1.2816)  for z ≥ 0,   t·exp(z·ln(t/low) / 1.2816)  below.

#include "predict/prediction.h"

namespace orrery::plan::horizon {

double time_at(const predict::Estimate<double>& time, double z);

// z such that P(N(0, 1) ≤ z) is the probability, to 1e-12. Precondition: above 0, below 1.
double normal_quantile(double probability);

// The time that is kept with this probability.
inline double time_within(const predict::Estimate<double>& time, double probability) {
  return time_at(time, normal_quantile(probability));
}

}  // namespace orrery::plan::horizon
