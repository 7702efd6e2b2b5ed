#include "base/statistics.h"

#include <algorithm>
#include <cmath>
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

namespace {

// Continued fraction of the incomplete beta function, by Lentz's method; converges fast for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kPrecise = 1e-15;
  constexpr int kMost = 10'000;
  const auto kept = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / kept(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMost; ++m) {
    double change = 1;
    for (const double numerator : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                                   -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 / kept(1 + numerator * d);
      c = kept(1 + numerator / c);
      change = c * d;
      fraction *= change;
    }
    if (std::abs(change - 1) < kPrecise) break;
  }
  return fraction;
}

// The regularised incomplete beta function.
double beta_share(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

double student_probability(double value, double degrees) {
  const double tail = beta_share(degrees / 2, 0.5, degrees / (degrees + value * value)) / 2;
  return value > 0 ? 1 - tail : tail;
}

double student_quantile(double share, double degrees) {
  if (share < 0.5) return -student_quantile(1 - share, degrees);
  double low = 0, high = 1;
  while (student_probability(high, degrees) < share) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-14 * high; ++i) {
    const double middle = (low + high) / 2;
    (student_probability(middle, degrees) < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace orrery
