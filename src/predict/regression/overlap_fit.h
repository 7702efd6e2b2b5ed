#pragma once
// Times in which two kinds of work run side by side, such as computing one batch while the next one is loaded:
//
//   t = A + P,   P = (C^g + L^g)^(1/g)       A = a·x,  C = c·u,  L = l·v,  all coefficients ≥ 0
//
// With g = 1 they run one after the other, with a large g only the longer of the two counts.
//
// P is homogeneous, so P = (C/P)^(g−1) · C + (L/P)^(g−1) · L exactly: with these factors of the last fit on their
// columns the next one is a non-negative least squares again. Coefficients move half-way each of kSteps times, from the
// fit of g = 1 on; the best one is kept. Errors are relative (residuals divided by their time) and may be weighted.

#include <span>
#include <vector>

#include "base/result.h"

namespace orrery::predict {

// (a^g + b^g)^(1/g), of times that overlap the more the larger g is: their sum at 1, the longer one without end.
// Neither may be negative.
double overlapped(double a, double b, double sharpness);

struct OverlapRow {
  std::vector<double> always, compute, load;  // x, u, v: none negative
};

class OverlapFit {
 public:
  // Rows have the same columns, times are above 0. `weights` multiply the relative errors; empty: all 1.
  static Result<OverlapFit> fit(std::span<const OverlapRow> rows, std::span<const double> seconds,
                                std::span<const double> weights, double sharpness);

  // Precondition: as many columns as were fitted.
  double seconds(const OverlapRow& row) const;
  // a, c, l behind each other.
  const std::vector<double>& coefficients() const { return coefficients_; }

 private:
  struct Parts {
    double always = 0, compute = 0, load = 0;
  };
  Parts parts(const OverlapRow& row) const;
  double together(const Parts& parts) const { return overlapped(parts.compute, parts.load, sharpness_); }

  double sharpness_ = 1;
  std::vector<double> coefficients_;
};

}  // namespace orrery::predict
