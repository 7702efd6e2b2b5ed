#pragma once
// Linear least squares: plain, with standard errors, and with coefficients that may not be negative.

#include "base/result.h"
#include "predict/regression/design.h"

namespace orrery::predict {

struct LinearFit {
  double intercept = 0;
  std::vector<double> coefficients;       // one per column
  std::vector<double> standard_errors{};  // of the coefficients; empty where they were not asked for
  double residual_squares = 0;            // Σ (y − ŷ)²
  double predict(const Design& design, std::size_t row) const;
};

// By a pivoting QR decomposition. Fails when there are no more rows than parameters or the columns depend on each
// other.
Result<LinearFit> least_squares(const Design& design, std::span<const double> targets, bool has_intercept = true);

// Least squares with coefficients ≥ 0 and no intercept (Lawson and Hanson's active-set method; a column of ones makes
// an intercept). `weights` multiply the residuals before they are squared: 1 / y makes errors relative. May be empty.
Result<LinearFit> non_negative_least_squares(const Design& design, std::span<const double> targets,
                                             std::span<const double> weights = {});

}  // namespace orrery::predict
