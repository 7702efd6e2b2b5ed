#pragma once
// The gradient noise scale: approximately the batch beyond which more samples per step hardly help. (S. McCandlish et
// al., "An empirical model of large-batch training", 2018, appendix A.1)
//
// g_i is the mean gradient over the b_i samples of rank i, g the mean over all B samples. With the true gradient G and
// the trace S of the covariance of one sample's gradient:
//
//   E |g_i|² = |G|² + S / b_i        E |g|² = |G|² + S / B
//
// So with a = mean |g_i|² and h = mean 1 / b_i over ranks, without bias:
//
//   S = (a - |g|²) / (h - 1 / B)     |G|² = |g|² - S / B     noise scale = EMA(S) / EMA(|G|²)
//
// Every rank computes the same value from the numbers of all ranks. It costs one number per rank and step.

#include <optional>

#include "base/result.h"
#include "elastic/monitor/ema.h"

namespace orrery::elastic {

struct NoiseSample {
  double local_square = 0;   // a
  double inverse_batch = 0;  // h
  double mean_square = 0;    // |g|²
  double batch = 0;          // B
};

struct NoiseEstimate {
  double gradient_square = 0;  // |G|²; of a single step it may be negative
  double noise = 0;            // S
};

// kInvalidArgument for values that are not finite or make no sense; kInfeasible if one rank had all samples, because
// one gradient alone gives no estimate.
Result<NoiseEstimate> estimate_noise(const NoiseSample& sample);

// Over the steps of a training.
struct NoiseScale {
  Ema gradient_square{};
  Ema noise{};

  // A step that cannot be estimated returns an error and changes nothing.
  Status add(const NoiseSample& sample);
  // No value while noise hides the gradient: |G|² or S is not positive.
  std::optional<double> value() const;
};

}  // namespace orrery::elastic
