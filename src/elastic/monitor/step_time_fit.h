#pragma once
// A model of the step time, fitted during the training. With n workers and a batch of B samples:
//
//   T = a + b · B / n + c · n        fixed part, computing, exchange;  a, b, c ≥ 0
//
// It is fitted by weighted least squares of relative errors: a step of time T counts 1 / T², older ones less. Terms
// that have not been varied cannot be told apart, so a and c are pulled slightly to 0: before other sizes were
// measured, all time counts as computing. It consists of plain numbers, so that it can be sent to joining workers.

#include <array>
#include <optional>

namespace orrery::elastic {

struct StepTimeFit {
  static constexpr std::size_t kTerms = 3;

  void add(double workers, double batch, double time_s);
  // a, b and c; no value before the first step.
  std::optional<std::array<double, kTerms>> terms() const;
  // The predicted time of a step of this size, in seconds.
  std::optional<double> time_s(double workers, double batch) const;

  double decay = 0.999;
  double gram[kTerms][kTerms] = {};  // Σ x xᵀ / T²
  double moment[kTerms] = {};        // Σ x / T
};

}  // namespace orrery::elastic
