#include "predict/learn/ridge.h"

#include <Eigen/Dense>
#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

namespace {

constexpr std::size_t kRidgeColumnsMax = 100'000;
constexpr int kSweepsMax = 10'000;
constexpr double kSettled = 1e-12;       // change of a coefficient at which descent ends
constexpr double kConstantBelow = 1e-9;  // deviation of a column relative to its size

Status check_input(const Features& features, std::span<const double> targets, std::span<const double> weights) {
  const std::size_t rows = features.rows();
  if (rows == 0) return Error::invalid("no rows to learn from");
  if (targets.size() != rows) return Error::invalid(fmt::format("{} targets for {} rows", targets.size(), rows));
  if (!weights.empty() && weights.size() != rows) {
    return Error::invalid(fmt::format("{} weights for {} rows", weights.size(), rows));
  }
  double weight_sum = weights.empty() ? 1 : 0;
  for (std::size_t i = 0; i < rows; ++i) {
    if (!std::isfinite(targets[i])) return Error::invalid(fmt::format("row {}: the target is not finite", i));
    const auto row = features.row(i);
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (!std::isfinite(row[c])) {
        return Error::invalid(fmt::format("row {}: column {} is not finite", i, features.names()[c]));
      }
    }
    if (weights.empty()) continue;
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      return Error::invalid(fmt::format("row {}: the weight is negative or not finite", i));
    }
    weight_sum += weights[i];
  }
  if (!(weight_sum > 0)) return Error::invalid("all weights are 0");
  return {};
}

struct Moments {
  Eigen::VectorXd mean, deviation;  // per column; deviation 0: constant
  double target_mean = 0;
  Eigen::MatrixXd gram;     // of standardised columns, mean over weights
  Eigen::VectorXd against;  // standardised columns against the target
};

Moments moments_of(const Features& features, std::span<const double> targets, std::span<const double> weights) {
  const auto columns = static_cast<Eigen::Index>(features.columns());
  const auto weight = [&](std::size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  const auto values = [&](std::size_t i) {
    return Eigen::Map<const Eigen::VectorXf>(features.row(i).data(), columns).cast<double>().eval();
  };
  Moments moments;
  moments.mean = Eigen::VectorXd::Zero(columns);
  double weight_sum = 0;
  for (std::size_t i = 0; i < features.rows(); ++i) {
    weight_sum += weight(i);
    moments.mean += weight(i) * values(i);
    moments.target_mean += weight(i) * targets[i];
  }
  moments.mean /= weight_sum;
  moments.target_mean /= weight_sum;
  moments.gram = Eigen::MatrixXd::Zero(columns, columns);
  moments.against = Eigen::VectorXd::Zero(columns);
  for (std::size_t i = 0; i < features.rows(); ++i) {
    const Eigen::VectorXd centred = values(i) - moments.mean;
    moments.gram.selfadjointView<Eigen::Lower>().rankUpdate(centred, weight(i) / weight_sum);
    moments.against += weight(i) / weight_sum * (targets[i] - moments.target_mean) * centred;
  }
  moments.gram = moments.gram.selfadjointView<Eigen::Lower>();
  moments.deviation = moments.gram.diagonal().cwiseMax(0).cwiseSqrt();
  for (Eigen::Index c = 0; c < columns; ++c) {
    if (moments.deviation[c] <= kConstantBelow * (1e-300 + std::abs(moments.mean[c]))) moments.deviation[c] = 0;
    const double scale = moments.deviation[c] > 0 ? 1 / moments.deviation[c] : 0;
    moments.gram.row(c) *= scale;
    moments.gram.col(c) *= scale;
    moments.against[c] *= scale;
  }
  return moments;
}

// Minimises b'Ab/2 − b'c over b >= 0, one coefficient at a time.
Eigen::VectorXd non_negative_solution(const Eigen::MatrixXd& a, const Eigen::VectorXd& c) {
  Eigen::VectorXd b = Eigen::VectorXd::Zero(c.size());
  for (int sweep = 0; sweep < kSweepsMax; ++sweep) {
    double change = 0;
    for (Eigen::Index i = 0; i < c.size(); ++i) {
      if (!(a(i, i) > 0)) continue;
      const double next = std::max(0.0, b[i] + (c[i] - a.row(i).dot(b)) / a(i, i));
      change = std::max(change, std::abs(next - b[i]));
      b[i] = next;
    }
    if (change < kSettled) break;
  }
  return b;
}

}  // namespace

Result<Ridge> Ridge::fit(const Features& features, std::span<const double> targets, std::span<const double> weights,
                         const RidgeOptions& options) {
  ORRERY_TRY_VOID(check_input(features, targets, weights));
  if (!(options.l2 >= 0)) return Error::invalid("l2 must not be negative");
  const Moments moments = moments_of(features, targets, weights);
  Eigen::MatrixXd a = moments.gram;
  for (Eigen::Index c = 0; c < a.rows(); ++c) a(c, c) += moments.deviation[c] > 0 ? options.l2 : 1;
  const Eigen::VectorXd b = options.non_negative ? non_negative_solution(a, moments.against)
                                                 : a.completeOrthogonalDecomposition().solve(moments.against).eval();
  Ridge model;
  model.intercept_ = moments.target_mean;
  for (Eigen::Index c = 0; c < b.size(); ++c) {
    model.coefficients_.push_back(moments.deviation[c] > 0 ? b[c] / moments.deviation[c] : 0);
    model.intercept_ -= model.coefficients_.back() * moments.mean[c];
  }
  return model;
}

double Ridge::predict(std::span<const float> row) const {
  ORRERY_CHECK(row.size() == coefficients_.size());
  double sum = intercept_;
  for (std::size_t c = 0; c < row.size(); ++c) sum += coefficients_[c] * static_cast<double>(row[c]);
  return sum;
}

void Ridge::write(ByteWriter& out) const {
  out.f64(intercept_);
  out.u32(static_cast<std::uint32_t>(coefficients_.size()));
  for (const double coefficient : coefficients_) out.f64(coefficient);
}

Result<Ridge> Ridge::read(ByteReader& in) {
  Ridge model;
  ORRERY_TRY(model.intercept_, in.f64());
  ORRERY_TRY(const std::size_t columns, in.count(8, kRidgeColumnsMax));
  bool finite = std::isfinite(model.intercept_);
  for (std::size_t c = 0; c < columns; ++c) {
    ORRERY_TRY(const double coefficient, in.f64());
    finite = finite && std::isfinite(coefficient);
    model.coefficients_.push_back(coefficient);
  }
  if (!finite) return Error::invalid("a coefficient is not finite");
  return model;
}

}  // namespace orrery::predict
