#include "predict/regression/least_squares.h"

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "base/random.h"

namespace orrery::predict {
namespace {

struct Sample {
  Design design;
  std::vector<double> targets;
};

Sample sample(std::uint64_t seed, std::size_t rows, std::size_t columns) {
  Random random(seed);
  Sample made;
  for (std::size_t c = 0; c < columns; ++c) {
    std::vector<double> values;
    for (std::size_t i = 0; i < rows; ++i) values.push_back(random.normal() * std::pow(10.0, static_cast<double>(c)));
    made.design.add("x" + std::to_string(c), std::move(values));
  }
  for (std::size_t i = 0; i < rows; ++i) made.targets.push_back(3 + random.normal());
  return made;
}

Eigen::MatrixXd matrix_of(const Design& design, const std::vector<std::size_t>& columns) {
  Eigen::MatrixXd matrix(static_cast<Eigen::Index>(design.rows()), static_cast<Eigen::Index>(columns.size()));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    for (std::size_t row = 0; row < design.rows(); ++row) {
      matrix(static_cast<Eigen::Index>(row), static_cast<Eigen::Index>(i)) = design.column(columns[i])[row];
    }
  }
  return matrix;
}

// The best of all subsets of columns whose free solution is not negative is the constrained optimum.
double best_by_subsets(const Sample& given) {
  const Eigen::Map<const Eigen::VectorXd> y(given.targets.data(), static_cast<Eigen::Index>(given.targets.size()));
  double best = y.squaredNorm();
  for (unsigned subset = 1; subset < 1U << given.design.columns(); ++subset) {
    std::vector<std::size_t> columns;
    for (std::size_t c = 0; c < given.design.columns(); ++c) {
      if ((subset >> c & 1U) != 0) columns.push_back(c);
    }
    const Eigen::MatrixXd matrix = matrix_of(given.design, columns);
    const Eigen::VectorXd x = matrix.householderQr().solve(y);
    if (x.minCoeff() >= 0) best = std::min(best, (y - matrix * x).squaredNorm());
  }
  return best;
}

TEST(NonNegativeLeastSquares, IsTheBestOfAllSubsets) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Sample given = sample(seed, 12, 6);
    const LinearFit fit = non_negative_least_squares(given.design, given.targets).value();
    for (const double coefficient : fit.coefficients) EXPECT_GE(coefficient, 0);
    EXPECT_NEAR(fit.residual_squares, best_by_subsets(given), 1e-8) << seed;
  }
}

TEST(NonNegativeLeastSquares, WeightsMakeErrorsRelative) {
  Design design;
  design.add("1", {1, 1});
  const std::vector<double> targets = {1, 100};
  const std::vector<double> weights = {1, 0.01};
  EXPECT_NEAR(non_negative_least_squares(design, targets).value().coefficients[0], 50.5, 1e-9);
  // Minimum of (1 − c)² + (1 − c / 100)².
  EXPECT_NEAR(non_negative_least_squares(design, targets, weights).value().coefficients[0], 1.01 / 1.0001, 1e-9);
}

TEST(LeastSquares, CoefficientsAndErrorsEqualTheNormalEquations) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Sample given = sample(seed, 20, 3);
    const LinearFit fit = least_squares(given.design, given.targets).value();
    Eigen::MatrixXd matrix(20, 4);
    matrix.col(0).setOnes();
    matrix.rightCols(3) = matrix_of(given.design, {0, 1, 2});
    const Eigen::Map<const Eigen::VectorXd> y(given.targets.data(), 20);
    const Eigen::MatrixXd inverse = (matrix.transpose() * matrix).inverse();
    const Eigen::VectorXd x = inverse * matrix.transpose() * y;
    const double variance = (y - matrix * x).squaredNorm() / 16;
    EXPECT_NEAR(fit.intercept, x[0], 1e-9);
    for (int c = 0; c < 3; ++c) {
      const auto place = static_cast<std::size_t>(c);
      EXPECT_NEAR(fit.coefficients[place] / x[c + 1], 1, 1e-8);
      EXPECT_NEAR(fit.standard_errors[place] / std::sqrt(variance * inverse(c + 1, c + 1)), 1, 1e-8);
    }
  }
}

TEST(LeastSquares, SaysWhatIsWrong) {
  Design design;
  design.add("a", {1, 2, 3, 4});
  design.add("b", {2, 4, 6, 8});
  const std::vector<double> targets = {1, 2, 3, 5};
  EXPECT_EQ(least_squares(design, targets).error().message(), "columns that depend on each other");
  const std::vector<std::size_t> rows = {0, 1, 2};
  EXPECT_EQ(least_squares(design.rows_at(rows), std::vector<double>{1, 2, 3}).error().message(),
            "3 rows are too few for 3 parameters");
  design.add("c", {1, 2, std::nan(""), 4});
  EXPECT_EQ(least_squares(design, targets).error().message(), "row 2: column c is not finite");
}

}  // namespace
}  // namespace orrery::predict
