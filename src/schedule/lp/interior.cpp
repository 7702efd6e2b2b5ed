#include "schedule/lp/interior.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "schedule/lp/sparse_ldl.h"

namespace orrery::schedule {

namespace {

constexpr int kStepsMax = 100;
constexpr double kPrecision = 1e-7;  // of rows, reduced costs and the gap
constexpr double kBackOff = 0.995;   // of the distance to the nearest bound
constexpr int kRefinements = 3;      // of each solution

// Primal: min c x, A x + w = right, x, w >= 0 (rows with a lower bound are negated). Dual: max -right l with A^T l + c
// = z, l, z >= 0. A point is optimal if both hold and every product x_j z_j and w_i l_i is 0. The central path is the
// set of points at which all products have one common value, the mean; following it to 0 leads to the analytic centre
// of the optimal points. Invariant: x, z, w and l are above 0. The equations need not hold before the end (infeasible
// start): a step of length a leaves 1 - a of their residuals.
class Interior {
 public:
  explicit Interior(const LinearProgram& program)
      : program_(program), columns_(program.columns.size()), rows_(program.rows.size()), ldl_(pattern()) {
    for (const LpBounds& row : program.rows) {
      const bool is_upper = row.upper < kLpInfinity;
      ORRERY_CHECK(is_upper != (row.lower > -kLpInfinity));
      sign_.push_back(is_upper ? 1 : -1);
      right_.push_back(is_upper ? row.upper : -row.lower);
    }
  }

  LpSolution run() {
    start();
    LpSolution solution;
    for (; solution.steps < kStepsMax; ++solution.steps) {
      measure();
      if (!std::isfinite(gap_)) break;
      if (row_error_ < kPrecision && cost_error_ < kPrecision && gap_ < kPrecision) {
        solution.status = LpStatus::kOptimal;
        break;
      }
      step();
    }
    finish(solution);
    return solution;
  }

 private:
  using Vector = std::vector<double>;

  SparseLdl pattern() {
    for (std::size_t j = 0; j < columns_; ++j) entries_.push_back({static_cast<int>(j), static_cast<int>(j), 0});
    for (std::size_t i = 0; i < rows_; ++i) {
      entries_.push_back({static_cast<int>(columns_ + i), static_cast<int>(columns_ + i), 0});
    }
    for (std::size_t j = 0; j < columns_; ++j) {
      const LpColumn& column = program_.columns[j];
      ORRERY_CHECK(column.bounds.lower == 0 && column.bounds.upper == kLpInfinity);
      for (const LpEntry& entry : column.entries) {
        entries_.push_back({static_cast<int>(columns_) + entry.row, static_cast<int>(j), entry.value});
      }
    }
    return {static_cast<int>(columns_ + rows_), static_cast<int>(columns_), entries_};
  }

  double sign(const LpEntry& entry) const { return sign_[static_cast<std::size_t>(entry.row)]; }

  // Any positive point serves. At all ones the products are equal, and coefficients are within a few powers of ten of
  // 1.
  void start() {
    x_.assign(columns_, 1);
    z_.assign(columns_, 1);
    w_.assign(rows_, 1);
    l_.assign(rows_, 1);
  }

  // Residuals of the equations, and the gap. The gap takes the mean into account as well, because near infeasible
  // points primal and dual values may agree by chance.
  void measure() {
    row_rest_ = right_;
    double right_max = 1, cost_max = 1, primal = 0, dual = 0;
    cost_rest_.assign(columns_, 0);
    mean_ = 0;
    for (std::size_t j = 0; j < columns_; ++j) {
      const LpColumn& column = program_.columns[j];
      cost_rest_[j] = column.cost - z_[j];
      for (const LpEntry& entry : column.entries) {
        const auto i = static_cast<std::size_t>(entry.row);
        row_rest_[i] -= sign(entry) * entry.value * x_[j];
        cost_rest_[j] += sign(entry) * entry.value * l_[i];
      }
      cost_max = std::max(cost_max, std::abs(column.cost));
      primal += column.cost * x_[j];
      mean_ += x_[j] * z_[j];
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      row_rest_[i] -= w_[i];
      right_max = std::max(right_max, std::abs(right_[i]));
      dual -= right_[i] * l_[i];
      mean_ += w_[i] * l_[i];
    }
    mean_ /= static_cast<double>(columns_ + rows_);
    row_error_ = largest(row_rest_) / right_max;
    cost_error_ = largest(cost_rest_) / cost_max;
    gap_ = std::max(std::abs(primal - dual) / (1 + std::abs(primal)), mean_);
  }

  static double largest(const Vector& vector) {
    double most = 0;
    for (const double value : vector) most = std::max(most, std::abs(value));
    return most;
  }

  // One step. The predictor (affine) direction aims at products of 0. How far it gets shows how well the linearisation
  // holds: if it reaches a small mean (`ahead`), little centring is needed, and the cube makes that decision sharp
  // (Mehrotra). The corrector then aims at the common value `centre` and subtracts dx dz and dw dl, the second-order
  // error of the predictor. Both use one factorisation.
  void step() {
    Vector& values = values_;
    values.resize(entries_.size());
    for (std::size_t j = 0; j < columns_; ++j) values[j] = z_[j] / x_[j];
    for (std::size_t i = 0; i < rows_; ++i) values[columns_ + i] = -w_[i] / l_[i];
    for (std::size_t e = columns_ + rows_; e < entries_.size(); ++e) {
      values[e] = sign_[static_cast<std::size_t>(entries_[e].row) - columns_] * entries_[e].value;
    }
    ldl_.factorise(values);
    Vector column_aim(columns_), row_aim(rows_);
    for (std::size_t j = 0; j < columns_; ++j) column_aim[j] = -x_[j] * z_[j];
    for (std::size_t i = 0; i < rows_; ++i) row_aim[i] = -w_[i] * l_[i];
    direction(column_aim, row_aim);
    const double primal = reach(x_, dx_, w_, dw_), dual = reach(z_, dz_, l_, dl_);
    double ahead = 0;
    for (std::size_t j = 0; j < columns_; ++j) ahead += (x_[j] + primal * dx_[j]) * (z_[j] + dual * dz_[j]);
    for (std::size_t i = 0; i < rows_; ++i) ahead += (w_[i] + primal * dw_[i]) * (l_[i] + dual * dl_[i]);
    ahead /= static_cast<double>(columns_ + rows_);
    const double centre = std::pow(ahead / mean_, 3) * mean_;
    for (std::size_t j = 0; j < columns_; ++j) column_aim[j] = centre - x_[j] * z_[j] - dx_[j] * dz_[j];
    for (std::size_t i = 0; i < rows_; ++i) row_aim[i] = centre - w_[i] * l_[i] - dw_[i] * dl_[i];
    direction(column_aim, row_aim);
    // All four vectors take one length, so that the residuals of primal and dual shrink by the same factor. kBackOff
    // keeps every value above 0.
    const double length = std::min(1.0, kBackOff * std::min(reach(x_, dx_, w_, dw_), reach(z_, dz_, l_, dl_)));
    move(x_, dx_, length);
    move(w_, dw_, length);
    move(z_, dz_, length);
    move(l_, dl_, length);
  }

  // Newton's equations. dz and dw are eliminated by z dx + x dz = column_aim and l dw + w dl = row_aim, which leaves
  // the quasi-definite system of the header: positive diagonal z/x, negative diagonal -w/l.
  void direction(const Vector& column_aim, const Vector& row_aim) {
    Vector right(columns_ + rows_);
    for (std::size_t j = 0; j < columns_; ++j) right[j] = -cost_rest_[j] + column_aim[j] / x_[j];
    for (std::size_t i = 0; i < rows_; ++i) right[columns_ + i] = row_rest_[i] - row_aim[i] / l_[i];
    right = solved(right);
    dx_.assign(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(columns_));
    dl_.assign(right.begin() + static_cast<std::ptrdiff_t>(columns_), right.end());
    dz_.resize(columns_);
    dw_.resize(rows_);
    for (std::size_t j = 0; j < columns_; ++j) dz_[j] = (column_aim[j] - z_[j] * dx_[j]) / x_[j];
    for (std::size_t i = 0; i < rows_; ++i) dw_[i] = (row_aim[i] - w_[i] * dl_[i]) / l_[i];
  }

  // Iterative refinement: near the end z/x and w/l differ by many powers of ten, and small pivots were replaced, so
  // each solution is corrected by its own residual.
  Vector solved(const Vector& right) const {
    Vector answer(right.size(), 0), rest = right;
    for (int round = 0; round <= kRefinements; ++round) {
      ldl_.solve(rest);
      for (std::size_t i = 0; i < rest.size(); ++i) answer[i] += rest[i];
      rest = right;
      for (std::size_t e = 0; e < entries_.size(); ++e) {
        const auto a = static_cast<std::size_t>(entries_[e].row), b = static_cast<std::size_t>(entries_[e].column);
        rest[a] -= values_[e] * answer[b];
        if (a != b) rest[b] -= values_[e] * answer[a];
      }
    }
    return answer;
  }

  // The longest step, at most 1 / kBackOff so that kBackOff of it is at most a whole step, that keeps both at or above
  // 0.
  static double reach(const Vector& a, const Vector& da, const Vector& b, const Vector& db) {
    double length = 1 / kBackOff;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (da[i] < 0) length = std::min(length, -a[i] / da[i]);
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
      if (db[i] < 0) length = std::min(length, -b[i] / db[i]);
    }
    return length;
  }

  static void move(Vector& a, const Vector& da, double length) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += length * da[i];
  }

  void finish(LpSolution& solution) const {
    solution.columns = x_;
    solution.rows.assign(rows_, 0);
    for (std::size_t j = 0; j < columns_; ++j) {
      solution.objective += program_.columns[j].cost * x_[j];
      for (const LpEntry& entry : program_.columns[j].entries) {
        solution.rows[static_cast<std::size_t>(entry.row)] += entry.value * x_[j];
      }
    }
    for (std::size_t i = 0; i < rows_; ++i) solution.prices.push_back(-sign_[i] * l_[i]);
  }

  const LinearProgram& program_;
  std::size_t columns_, rows_;
  std::vector<SparseLdl::Entry> entries_;
  SparseLdl ldl_;
  Vector values_;             // of the matrix, by entry
  Vector sign_, right_;       // rows as A x + w = right
  Vector x_, z_, w_, l_;      // the point
  Vector dx_, dz_, dw_, dl_;  // the step
  Vector row_rest_, cost_rest_;
  double row_error_ = 0, cost_error_ = 0, gap_ = 0, mean_ = 0;
};

}  // namespace

LpSolution solve_interior(const LinearProgram& program) {
  return Interior(program).run();
}

}  // namespace orrery::schedule
