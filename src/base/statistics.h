#pragma once
// Order statistics of small samples.

#include <span>

namespace orrery {

// Of the sorted values, linearly interpolated: quantile 0 is the smallest, 1 the largest. `values` must not be empty.
double quantile(std::span<const double> values, double share);

// quantile(values, 0.5).
double median(std::span<const double> values);

}  // namespace orrery
