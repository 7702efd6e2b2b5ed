#pragma once
// Order statistics of small samples, and Student's distribution.

#include <span>

namespace orrery {

// Of the sorted values, linearly interpolated: quantile 0 is the smallest, 1 the largest. `values` must not be empty.
double quantile(std::span<const double> values, double share);

// quantile(values, 0.5).
double median(std::span<const double> values);

// P(T ≤ value) for Student's distribution with `degrees` of freedom, which must be above 0; and its inverse, for a
// share above 0 and below 1. Both to about 1e-12.
double student_probability(double value, double degrees);
double student_quantile(double share, double degrees);

}  // namespace orrery
