#pragma once
// An exponential moving average: the mean of about the last 1 / (1 - decay) values.
//
//   mean = Σ decay^k x_(n-k) / Σ decay^k
//
// The divisor makes the first values count in full (bias correction; D. Kingma and J. Ba, "Adam", 2015, section 3). It
// consists of plain numbers, so that it can be sent to joining workers.

#include <optional>

namespace orrery::elastic {

struct Ema {
  double decay = 0.99;  // in [0, 1)
  double sum = 0, weight = 0;

  void add(double value) {
    sum = decay * sum + value;
    weight = decay * weight + 1;
  }
  // No value before the first one is added.
  std::optional<double> value() const { return weight > 0 ? std::optional(sum / weight) : std::nullopt; }
};

// Whether `wanted` differs from `current` by more than the share `band` of it: a smaller change is not worth its cost,
// and the next noise would take it back.
bool is_worth_changing(double current, double wanted, double band);

}  // namespace orrery::elastic
