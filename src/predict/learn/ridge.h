#pragma once
// Weighted ridge regression on standardised columns.
//
// With z = (x − mean) / deviation per column, weights w and W = Σw, the coefficients b minimise
//
//   Σ w (y − ȳ − z·b)² / W + l2 · |b|²          (b >= 0 if asked for, by coordinate descent)
//
// so l2 means the same for any number of rows and any unit of a column. A constant column gets coefficient 0.

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "predict/learn/features.h"

namespace orrery::predict {

struct RidgeOptions {
  double l2 = 1e-6;
  bool non_negative = false;  // no coefficient below 0; the intercept is free
};

class Ridge {
 public:
  // `weights` may be empty: all 1. Every value must be finite.
  static Result<Ridge> fit(const Features& features, std::span<const double> targets, std::span<const double> weights,
                           const RidgeOptions& options = {});

  double predict(std::span<const float> row) const;

  // In the units of the columns.
  const std::vector<double>& coefficients() const { return coefficients_; }
  double intercept() const { return intercept_; }

  void write(ByteWriter& out) const;
  static Result<Ridge> read(ByteReader& in);

 private:
  std::vector<double> coefficients_;
  double intercept_ = 0;
};

}  // namespace orrery::predict
