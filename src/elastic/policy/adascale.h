#pragma once
// Fits the learning rate to the batch (T. Johnson et al., "AdaScale SGD", 2020, section 3). At s = B / B₀ times the
// first batch, with the variance σ² = S / B₀ of its gradient and μ² = |G|²:
//
//   gain r(s) = (σ² + μ²) / (σ² / s + μ²)      1 ≤ r ≤ s; learning rate η₀ · r
//
// Procedure: every `every` steps, propose r unless it is within `band` of the present scale. It changes the membership,
// so small corrections are not worth it.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

struct AdaScaleOptions {
  double band = 0.05;
  std::uint64_t every = 20;  // steps
};

// Arguments must be positive.
double adascale_gain(double variance, double gradient_square, double scale);

class AdaScale : public Policy {
 public:
  explicit AdaScale(const AdaScaleOptions& options) : options_(options) {}
  std::string name() const override { return "adascale"; }
  Proposal after_step(const Observation& observation) override;

 private:
  AdaScaleOptions options_;
};

}  // namespace orrery::elastic
