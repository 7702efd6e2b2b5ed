#include "elastic/monitor/step_time_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace orrery::elastic {

namespace {

constexpr double kPull = 1e-3;  // of a term's own weight
constexpr std::size_t kTerms = StepTimeFit::kTerms;
using Terms = std::array<double, kTerms>;
using Square = std::array<Terms, kTerms>;

Terms features_of(double workers, double batch) {
  return {1, batch / workers, workers};
}

// Gaussian elimination with pivoting. No value if there is no unique solution.
std::optional<Terms> solve(Square left, Terms right) {
  for (std::size_t i = 0; i < kTerms; ++i) {
    std::size_t pivot = i;
    for (std::size_t row = i + 1; row < kTerms; ++row) {
      if (std::abs(left[row][i]) > std::abs(left[pivot][i])) pivot = row;
    }
    std::swap(left[i], left[pivot]);
    std::swap(right[i], right[pivot]);
    if (left[i][i] == 0) return std::nullopt;
    for (std::size_t row = 0; row < kTerms; ++row) {
      if (row == i) continue;
      const double factor = left[row][i] / left[i][i];
      for (std::size_t column = i; column < kTerms; ++column) left[row][column] -= factor * left[i][column];
      right[row] -= factor * right[i];
    }
  }
  for (std::size_t i = 0; i < kTerms; ++i) right[i] /= left[i][i];
  return right;
}

struct Fitted {
  Terms terms{};
  double objective = std::numeric_limits<double>::infinity();  // half the sum of squares, up to a constant
};

// The least squares with only the terms of `subset` (bits); infinite if one coefficient is negative.
Fitted fit(const Square& gram, const Terms& moment, unsigned subset) {
  Square left = gram;
  Terms right = moment;
  for (std::size_t i = 0; i < kTerms; ++i) {
    if ((subset >> i & 1U) != 0) continue;
    for (std::size_t j = 0; j < kTerms; ++j) left[i][j] = left[j][i] = 0;
    left[i][i] = 1;
    right[i] = 0;
  }
  const std::optional<Terms> terms = solve(left, right);
  if (!terms || !std::ranges::all_of(*terms, [](double term) { return term >= 0 && std::isfinite(term); })) return {};
  double objective = 0;
  for (std::size_t i = 0; i < kTerms; ++i) {
    double product = -right[i];
    for (std::size_t j = 0; j < kTerms; ++j) product += 0.5 * left[i][j] * (*terms)[j];
    objective += product * (*terms)[i];
  }
  return {*terms, objective};
}

}  // namespace

void StepTimeFit::add(double workers, double batch, double time_s) {
  if (!(workers >= 1) || !(batch > 0) || !(time_s > 0) || !std::isfinite(batch) || !std::isfinite(time_s)) return;
  const auto features = features_of(workers, batch);
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t j = 0; j < kTerms; ++j) {
      gram[i][j] = decay * gram[i][j] + features[i] * features[j] / (time_s * time_s);
    }
    moment[i] = decay * moment[i] + features[i] / time_s;
  }
}

std::optional<Terms> StepTimeFit::terms() const {
  if (!(moment[0] > 0)) return std::nullopt;
  Square pulled{};
  Terms right{};
  for (std::size_t i = 0; i < kTerms; ++i) {
    for (std::size_t j = 0; j < kTerms; ++j) pulled[i][j] = gram[i][j];
    right[i] = moment[i];
  }
  pulled[0][0] *= 1 + kPull;
  pulled[2][2] *= 1 + kPull;
  Fitted best;
  for (unsigned subset = 1; subset < (1U << kTerms); ++subset) {
    const Fitted one = fit(pulled, right, subset);
    if (one.objective < best.objective) best = one;
  }
  if (!std::isfinite(best.objective)) return std::nullopt;
  return best.terms;
}

std::optional<double> StepTimeFit::time_s(double workers, double batch) const {
  const auto fitted = terms();
  if (!fitted) return std::nullopt;
  const auto features = features_of(workers, batch);
  double sum = 0;
  for (std::size_t i = 0; i < kTerms; ++i) sum += (*fitted)[i] * features[i];
  return sum;
}

}  // namespace orrery::elastic
