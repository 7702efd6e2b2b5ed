#include "predict/regression/least_squares.h"

#include <Eigen/Dense>
#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

namespace {

using Matrix = Eigen::MatrixXd;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

Status check_finite(const Design& design, std::span<const double> targets) {
  if (targets.empty()) return Error::invalid("no rows to learn from");
  if (design.columns() > 0 && design.rows() != targets.size()) {
    return Error::invalid(fmt::format("{} targets for {} rows", targets.size(), design.rows()));
  }
  for (std::size_t row = 0; row < targets.size(); ++row) {
    if (!std::isfinite(targets[row])) return Error::invalid(fmt::format("row {}: the target is not finite", row));
    for (std::size_t column = 0; column < design.columns(); ++column) {
      if (!std::isfinite(design.column(column)[row])) {
        return Error::invalid(fmt::format("row {}: column {} is not finite", row, design.names()[column]));
      }
    }
  }
  return {};
}

Vector vector_of(std::span<const double> values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

double squares(const Design& design, std::span<const double> targets, const LinearFit& fit) {
  double sum = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    const double residual = targets[row] - fit.predict(design, row);
    sum += residual * residual;
  }
  return sum;
}

// Least squares of some of the columns.
Vector solve_some(const Matrix& matrix, const Vector& targets, const std::vector<Index>& chosen) {
  Matrix some(matrix.rows(), static_cast<Index>(chosen.size()));
  for (std::size_t i = 0; i < chosen.size(); ++i) some.col(static_cast<Index>(i)) = matrix.col(chosen[i]);
  return some.colPivHouseholderQr().solve(targets);
}

// Lawson and Hanson 1974, chapter 23. `matrix` has columns of length 1.
Vector solve_non_negative(const Matrix& matrix, const Vector& targets) {
  const Index columns = matrix.cols();
  const double enough = 1e-12 * std::max(1e-300, targets.norm());
  Vector x = Vector::Zero(columns);
  std::vector<bool> is_free(static_cast<std::size_t>(columns), false);
  for (Index step = 0; step < 30 * columns; ++step) {
    const Vector gradient = matrix.transpose() * (targets - matrix * x);
    Index best = -1;
    for (Index c = 0; c < columns; ++c) {
      if (!is_free[static_cast<std::size_t>(c)] && gradient[c] > enough && (best < 0 || gradient[c] > gradient[best])) {
        best = c;
      }
    }
    if (best < 0) break;
    is_free[static_cast<std::size_t>(best)] = true;
    while (true) {
      std::vector<Index> chosen;
      for (Index c = 0; c < columns; ++c) {
        if (is_free[static_cast<std::size_t>(c)]) chosen.push_back(c);
      }
      const Vector s = solve_some(matrix, targets, chosen);
      double reach = 1;  // how far towards s before a coefficient would become negative
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const double now = x[chosen[i]], next = s[static_cast<Index>(i)];
        if (next <= 0) reach = std::min(reach, now > 0 ? now / (now - next) : 0);
      }
      for (std::size_t i = 0; i < chosen.size(); ++i) x[chosen[i]] += reach * (s[static_cast<Index>(i)] - x[chosen[i]]);
      if (reach >= 1) break;
      for (const Index c : chosen) {
        if (x[c] > 1e-15) continue;
        x[c] = 0;
        is_free[static_cast<std::size_t>(c)] = false;
      }
      if (std::none_of(is_free.begin(), is_free.end(), [](bool free) { return free; })) break;
    }
  }
  return x;
}

}  // namespace

double LinearFit::predict(const Design& design, std::size_t row) const {
  double sum = intercept;
  for (std::size_t column = 0; column < coefficients.size(); ++column) {
    sum += coefficients[column] * design.column(column)[row];
  }
  return sum;
}

Result<LinearFit> least_squares(const Design& design, std::span<const double> targets, bool has_intercept) {
  ORRERY_TRY_VOID(check_finite(design, targets));
  const auto rows = static_cast<Index>(targets.size());
  const auto columns = static_cast<Index>(design.columns());
  const Index offset = has_intercept ? 1 : 0;
  if (rows <= columns + offset) {
    return Error::invalid(fmt::format("{} rows are too few for {} parameters", rows, columns + offset));
  }
  Matrix matrix(rows, columns + offset);
  if (has_intercept) matrix.col(0).setOnes();
  for (Index c = 0; c < columns; ++c) matrix.col(c + offset) = vector_of(design.column(static_cast<std::size_t>(c)));
  // Columns of length 1: what counts as dependent must not hang on units.
  const Vector lengths = matrix.colwise().norm().transpose();
  for (Index c = 0; c < matrix.cols(); ++c) {
    if (lengths[c] > 0) matrix.col(c) /= lengths[c];
  }
  Eigen::ColPivHouseholderQR<Matrix> qr(matrix);
  qr.setThreshold(1e-11);
  if (qr.rank() < matrix.cols()) return Error::invalid("columns that depend on each other");
  const Vector scaled = qr.solve(vector_of(targets));
  LinearFit fit;
  if (has_intercept) fit.intercept = scaled[0] / lengths[0];
  for (Index c = offset; c < matrix.cols(); ++c) fit.coefficients.push_back(scaled[c] / lengths[c]);
  fit.residual_squares = squares(design, targets, fit);
  const double variance = fit.residual_squares / static_cast<double>(rows - matrix.cols());
  const Matrix inverse = (matrix.transpose() * matrix).ldlt().solve(Matrix::Identity(matrix.cols(), matrix.cols()));
  for (Index c = offset; c < matrix.cols(); ++c) {
    fit.standard_errors.push_back(std::sqrt(std::max(0.0, variance * inverse(c, c))) / lengths[c]);
  }
  return fit;
}

Result<LinearFit> non_negative_least_squares(const Design& design, std::span<const double> targets,
                                             std::span<const double> weights) {
  ORRERY_TRY_VOID(check_finite(design, targets));
  if (!weights.empty() && weights.size() != targets.size()) {
    return Error::invalid(fmt::format("{} weights for {} rows", weights.size(), targets.size()));
  }
  const auto columns = static_cast<Index>(design.columns());
  Matrix matrix(static_cast<Index>(targets.size()), columns);
  for (Index c = 0; c < columns; ++c) matrix.col(c) = vector_of(design.column(static_cast<std::size_t>(c)));
  Vector right = vector_of(targets);
  if (!weights.empty()) {
    const Vector weight = vector_of(weights);
    matrix = weight.asDiagonal() * matrix;
    right = weight.asDiagonal() * right;
  }
  const Vector lengths = matrix.colwise().norm().transpose();
  for (Index c = 0; c < columns; ++c) {
    if (lengths[c] > 0) matrix.col(c) /= lengths[c];
  }
  const Vector scaled = solve_non_negative(matrix, right);
  LinearFit fit;
  for (Index c = 0; c < columns; ++c) fit.coefficients.push_back(lengths[c] > 0 ? scaled[c] / lengths[c] : 0);
  fit.residual_squares = squares(design, targets, fit);
  return fit;
}

}  // namespace orrery::predict
