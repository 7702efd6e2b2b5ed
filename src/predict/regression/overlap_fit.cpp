#include "predict/regression/overlap_fit.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "predict/regression/least_squares.h"

namespace orrery::predict {

namespace {

constexpr int kSteps = 10;
constexpr double kSharpnessMax = 64;
// A part that is hardly visible keeps this share of the whole, or it could never grow again.
constexpr double kShareMin = 0.02;

Status check_input(std::span<const OverlapRow> rows, std::span<const double> seconds, std::span<const double> weights,
                   double sharpness) {
  if (rows.empty()) return Error::invalid("no runs to learn from");
  if (seconds.size() != rows.size())
    return Error::invalid(fmt::format("{} times for {} runs", seconds.size(), rows.size()));
  if (!weights.empty() && weights.size() != rows.size()) {
    return Error::invalid(fmt::format("{} weights for {} runs", weights.size(), rows.size()));
  }
  if (!(sharpness >= 1 && sharpness <= kSharpnessMax)) {
    return Error::invalid(fmt::format("a sharpness of {}; it must be between 1 and {}", sharpness, kSharpnessMax));
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const OverlapRow& row = rows[i];
    if (row.always.size() != rows[0].always.size() || row.compute.size() != rows[0].compute.size() ||
        row.load.size() != rows[0].load.size()) {
      return Error::invalid(fmt::format("run {} has other columns than the first", i));
    }
    if (!(seconds[i] > 0) || !std::isfinite(seconds[i])) {
      return Error::invalid(fmt::format("run {}: the time must be above 0", i));
    }
    for (const std::vector<double>* values : {&row.always, &row.compute, &row.load}) {
      for (const double value : *values) {
        if (!(value >= 0) || !std::isfinite(value)) {
          return Error::invalid(fmt::format("run {}: a term is negative or not finite", i));
        }
      }
    }
  }
  return {};
}

// How much of `whole` the derivative of P with respect to a part is.
double factor_of(double part, double whole, double sharpness) {
  return whole > 0 ? std::pow(std::max(part / whole, kShareMin), sharpness - 1) : 1;
}

}  // namespace

double overlapped(double a, double b, double sharpness) {
  const double longer = std::max(a, b);
  if (longer <= 0) return 0;
  // Divided by the longer, so that no power can overflow.
  return longer * std::pow(std::pow(a / longer, sharpness) + std::pow(b / longer, sharpness), 1 / sharpness);
}

Result<OverlapFit> OverlapFit::fit(std::span<const OverlapRow> rows, std::span<const double> seconds,
                                   std::span<const double> weights, double sharpness) {
  ORRERY_TRY_VOID(check_input(rows, seconds, weights, sharpness));
  const std::size_t always = rows[0].always.size(), compute = rows[0].compute.size();
  const std::size_t columns = always + compute + rows[0].load.size();
  std::vector<double> relative(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) relative[i] = (weights.empty() ? 1 : weights[i]) / seconds[i];

  // The fit with the columns of computing and loading scaled by what they counted for under `at`.
  const auto solve = [&](const OverlapFit* at) -> Result<std::vector<double>> {
    std::vector<std::vector<double>> values(columns, std::vector<double>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double of_compute = 1, of_load = 1;
      if (at != nullptr) {
        const Parts parts = at->parts(rows[i]);
        const double whole = at->together(parts);
        of_compute = factor_of(parts.compute, whole, sharpness);
        of_load = factor_of(parts.load, whole, sharpness);
      }
      std::size_t column = 0;
      for (const double value : rows[i].always) values[column++][i] = value;
      for (const double value : rows[i].compute) values[column++][i] = of_compute * value;
      for (const double value : rows[i].load) values[column++][i] = of_load * value;
    }
    Design design;
    for (std::size_t c = 0; c < columns; ++c) design.add(std::to_string(c), std::move(values[c]));
    ORRERY_TRY(LinearFit linear, non_negative_least_squares(design, seconds, relative));
    return std::move(linear.coefficients);
  };
  const auto error_of = [&](const OverlapFit& model) {
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double off = (model.seconds(rows[i]) - seconds[i]) * relative[i];
      sum += off * off;
    }
    return sum;
  };

  OverlapFit model;
  model.sharpness_ = sharpness;
  ORRERY_TRY(model.coefficients_, solve(nullptr));
  if (sharpness == 1) return model;
  OverlapFit best = model;
  double best_error = error_of(model);
  for (int step = 0; step < kSteps; ++step) {
    ORRERY_TRY(const std::vector<double> next, solve(&model));
    for (std::size_t c = 0; c < columns; ++c) model.coefficients_[c] = (model.coefficients_[c] + next[c]) / 2;
    const double error = error_of(model);
    if (error >= best_error) continue;
    best_error = error;
    best = model;
  }
  return best;
}

OverlapFit::Parts OverlapFit::parts(const OverlapRow& row) const {
  ORRERY_CHECK(row.always.size() + row.compute.size() + row.load.size() == coefficients_.size());
  Parts parts;
  std::size_t column = 0;
  for (const double value : row.always) parts.always += coefficients_[column++] * value;
  for (const double value : row.compute) parts.compute += coefficients_[column++] * value;
  for (const double value : row.load) parts.load += coefficients_[column++] * value;
  return parts;
}

double OverlapFit::seconds(const OverlapRow& row) const {
  const Parts found = parts(row);
  return found.always + together(found);
}

}  // namespace orrery::predict
