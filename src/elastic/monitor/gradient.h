#pragma once
// Statistics of the gradients of ranks, before and after averaging.

#include <cstdint>
#include <span>

#include "base/result.h"

namespace orrery::elastic {

struct GradientNorm {
  double square = 0;             // sum of the squares of all finite elements
  std::uint64_t not_finite = 0;  // elements that are infinite or no number
};
GradientNorm norm_of(std::span<const float> gradient);

// Returns an error that names the first rank whose gradient is not finite. A mean that includes such a gradient is
// meaningless.
Status check_finite(std::span<const GradientNorm> by_rank);

// The variance of the gradients of ranks with equal shares, summed over all elements:
//   Σ (mean(g_i²) - mean(g_i)²) = mean(|g_i|²) - |mean(g_i)|²
// The right side needs one number per rank, not a second all-reduce. At least 0.
double variance_of(std::span<const GradientNorm> by_rank, double square_of_mean);

// The cosine of the angle between two gradients of equal length; 0 if one of them is 0.
double cosine_of(std::span<const float> own, std::span<const float> mean);

}  // namespace orrery::elastic
