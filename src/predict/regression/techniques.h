#pragma once
// The regressions of a campaign behind one function.
//
//   LRRidge       least squares + alpha·|w|², the intercept free
//   NNLS          least squares with weights ≥ 0 (a real one, not a lasso)
//   Relative      the same with every residual divided by its target: made for few rows and for extrapolation
//   Stepwise      stepwise.h
//   DecisionTree, RandomForest, XGBoost   trees (learn/boosted_trees.h): one, the mean of several, boosted

#include <map>

#include "base/result.h"
#include "predict/learn/boosted_trees.h"
#include "predict/learn/features.h"
#include "predict/regression/design.h"
#include "predict/regression/least_squares.h"

namespace orrery::predict {

using Hyperparameters = std::map<std::string, double>;

// A fitted regression: a linear map of its columns, or the mean of trees.
struct Regression {
  LinearFit linear{};
  std::vector<BoostedTrees> trees{};  // not empty: these count
  std::string formula{};              // for people; of trees how many there are

  // A row of values of the columns it was fitted on.
  double predict(std::span<const double> row) const;
  // A row of any design with those columns.
  double predict(const Design& design, std::size_t row) const;
};

// Missing hyper-parameters have their defaults. With `normalise` columns and target are scaled to mean 0 and deviation
// 1 first.
Result<Regression> fit_technique(const std::string& technique, const Hyperparameters& given, const Design& design,
                                 std::span<const double> targets, bool normalise, std::uint64_t seed);

// Some rows of a design for trees, which see floats: their splits lie between values, not at them.
Features features_of(const Design& design, std::span<const std::size_t> rows);

// Mean of |ŷ − y| / max(|y|, 2.2e-16).
double mean_percentage_error(std::span<const double> predicted, std::span<const double> targets);

}  // namespace orrery::predict
