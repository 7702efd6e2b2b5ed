#include "base/statistics.h"

#include <algorithm>
#include <vector>

#include "base/check.h"

namespace orrery {

double quantile(std::span<const double> values, double share) {
  ORRERY_CHECK(!values.empty() && share >= 0 && share <= 1);
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 == sorted.size()) return sorted.back();
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}

double median(std::span<const double> values) {
  return quantile(values, 0.5);
}

}  // namespace orrery
