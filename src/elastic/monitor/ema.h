#pragma once
// A running mean that forgets: of the last 1 / (1 - decay) values, about.
//
//   mean = Σ decay^k x_(n-k) / Σ decay^k
//
// The divisor makes the first values count in full (bias correction; D. Kingma and J. Ba, "Adam", 2015, section 3).
// Plain numbers, so that it can be handed to workers that join.

#include <optional>

namespace orrery::elastic {

struct Ema {
  double decay = 0.99;  // in [0, 1)
  double sum = 0, weight = 0;

  void add(double value) {
    sum = decay * sum + value;
    weight = decay * weight + 1;
  }
  // Nothing before the first value.
  std::optional<double> value() const { return weight > 0 ? std::optional(sum / weight) : std::nullopt; }
};

// Whether `wanted` differs from `current` by more than the share `band` of it: a change below that is not worth its
// cost, and would be taken back by the next noise.
bool is_worth_changing(double current, double wanted, double band);

}  // namespace orrery::elastic
