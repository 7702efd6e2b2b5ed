#pragma once
// How long a step takes, learned while it trains. With n workers and a batch of B samples:
//
//   T = a + b · B / n + c · n        fixed part, computing, exchange;  a, b, c ≥ 0
//
// fitted by weighted least squares of relative errors: a step of time T counts 1 / T², older ones less. What has not
// been varied cannot be told apart, so a and c are pulled to 0 by a little: before other sizes were seen, all time is
// computing. Plain numbers, so that it can be handed to workers that join.

#include <array>
#include <optional>

namespace orrery::elastic {

struct StepTimeFit {
  static constexpr std::size_t kTerms = 3;

  void add(double workers, double batch, double time_s);
  // a, b and c; nothing before the first step.
  std::optional<std::array<double, kTerms>> terms() const;
  // What a step with these would take, in seconds.
  std::optional<double> time_s(double workers, double batch) const;

  double decay = 0.999;
  double gram[kTerms][kTerms] = {};  // Σ x xᵀ / T²
  double moment[kTerms] = {};        // Σ x / T
};

}  // namespace orrery::elastic
