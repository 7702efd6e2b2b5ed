#include "elastic/monitor/noise_scale.h"

#include <cmath>

namespace orrery::elastic {

namespace {

// Below that, two batches are the same up to rounding.
constexpr double kSmallestDifference = 1e-9;

bool is_sound(const NoiseSample& sample) {
  const bool is_finite = std::isfinite(sample.local_square) && std::isfinite(sample.mean_square) &&
                         std::isfinite(sample.inverse_batch) && std::isfinite(sample.batch);
  return is_finite && sample.local_square >= 0 && sample.mean_square >= 0 && sample.inverse_batch > 0 &&
         sample.batch > 0;
}

}  // namespace

Result<NoiseEstimate> estimate_noise(const NoiseSample& sample) {
  if (!is_sound(sample)) return Error::invalid("the norms of the gradients are not finite, or there is no batch");
  const double difference = sample.inverse_batch - 1 / sample.batch;
  if (!(difference * sample.batch > kSmallestDifference)) {
    return Error::infeasible("the noise of gradients shows only between at least two of them");
  }
  const double noise = (sample.local_square - sample.mean_square) / difference;
  return NoiseEstimate{sample.mean_square - noise / sample.batch, noise};
}

Status NoiseScale::add(const NoiseSample& sample) {
  ORRERY_TRY(const NoiseEstimate estimate, estimate_noise(sample));
  gradient_square.add(estimate.gradient_square);
  noise.add(estimate.noise);
  return {};
}

std::optional<double> NoiseScale::value() const {
  const double above = noise.value().value_or(0), below = gradient_square.value().value_or(0);
  if (!(above > 0) || !(below > 0)) return std::nullopt;
  return above / below;
}

}  // namespace orrery::elastic
