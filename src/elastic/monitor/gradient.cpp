#include "elastic/monitor/gradient.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/check.h"

namespace orrery::elastic {

GradientNorm norm_of(std::span<const float> gradient) {
  GradientNorm norm;
  for (const float element : gradient) {
    if (std::isfinite(element)) {
      norm.square += static_cast<double>(element) * static_cast<double>(element);
    } else {
      ++norm.not_finite;
    }
  }
  return norm;
}

Status check_finite(std::span<const GradientNorm> by_rank) {
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (by_rank[rank].not_finite == 0) continue;
    return Error::invalid(
        fmt::format("{} elements of the gradient of rank {} are not finite", by_rank[rank].not_finite, rank));
  }
  return {};
}

double variance_of(std::span<const GradientNorm> by_rank, double square_of_mean) {
  double sum = 0;
  for (const GradientNorm& norm : by_rank) sum += norm.square;
  return by_rank.empty() ? 0 : std::max(0.0, sum / static_cast<double>(by_rank.size()) - square_of_mean);
}

double cosine_of(std::span<const float> own, std::span<const float> mean) {
  ORRERY_CHECK(own.size() == mean.size());
  double product = 0;
  for (std::size_t i = 0; i < own.size(); ++i) product += static_cast<double>(own[i]) * static_cast<double>(mean[i]);
  const double norms = std::sqrt(norm_of(own).square * norm_of(mean).square);
  return norms > 0 ? product / norms : 0;
}

}  // namespace orrery::elastic
