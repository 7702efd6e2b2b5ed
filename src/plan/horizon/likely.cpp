#include "plan/horizon/likely.h"

#include <algorithm>
#include <cmath>

namespace orrery::plan::horizon {

namespace {

constexpr double kNinetiethNormal = 1.2815515655446004;

}  // namespace

double time_at(const predict::Estimate<double>& time, double z) {
  const double end = z >= 0 ? time.high / time.value : time.value / std::max(time.low, 1e-300);
  return time.value * std::exp(z * std::log(std::max(end, 1.0)) / kNinetiethNormal);
}

double normal_quantile(double probability) {
  double low = -40, high = 40;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace orrery::plan::horizon
