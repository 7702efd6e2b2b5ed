#include "predict/regression/techniques.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "predict/learn/ridge.h"
#include "predict/regression/campaign_file.h"
#include "predict/regression/stepwise.h"

namespace orrery::predict {

namespace {

// z = (x − mean) / deviation of each column and of the target, by the rows fitted on (population deviation).
class Scaler {
 public:
  static Scaler of(const Design& design, std::span<const double> targets) {
    std::vector<Scale> scales;
    for (std::size_t i = 0; i < design.columns(); ++i) scales.push_back(scale_of(design.column(i)));
    return Scaler(std::move(scales), scale_of(targets));
  }

  Design scaled(const Design& design) const {
    Design out;
    for (std::size_t i = 0; i < design.columns(); ++i) {
      std::vector<double> values;
      for (const double value : design.column(i)) values.push_back((value - columns_[i].mean) / columns_[i].deviation);
      out.add(design.names()[i], std::move(values));
    }
    return out;
  }
  std::vector<double> scaled(std::span<const double> targets) const {
    std::vector<double> values;
    for (const double target : targets) values.push_back((target - target_.mean) / target_.deviation);
    return values;
  }
  // A linear fit of scaled columns in the units of the plain ones.
  LinearFit unscaled(LinearFit fit) const {
    fit.intercept = target_.mean + target_.deviation * fit.intercept;
    for (std::size_t i = 0; i < fit.coefficients.size(); ++i) {
      fit.coefficients[i] *= target_.deviation / columns_[i].deviation;
      fit.intercept -= fit.coefficients[i] * columns_[i].mean;
    }
    return fit;
  }

 private:
  struct Scale {
    double mean = 0, deviation = 1;
  };
  Scaler(std::vector<Scale> columns, Scale target) : columns_(std::move(columns)), target_(target) {}

  static Scale scale_of(std::span<const double> values) {
    Scale scale;
    for (const double value : values) scale.mean += value / static_cast<double>(values.size());
    double variance = 0;
    for (const double value : values) {
      variance += (value - scale.mean) * (value - scale.mean) / static_cast<double>(values.size());
    }
    if (variance > 0) scale.deviation = std::sqrt(variance);
    return scale;
  }

  std::vector<Scale> columns_;
  Scale target_;
};

std::string formula_of(const LinearFit& fit, const std::vector<std::string>& names) {
  std::string text = fmt::format("{:.9g}", fit.intercept);
  for (std::size_t i = 0; i < fit.coefficients.size(); ++i) {
    if (fit.coefficients[i] == 0) continue;
    text += fmt::format(" {} {:.9g} {}", fit.coefficients[i] < 0 ? "-" : "+", std::abs(fit.coefficients[i]), names[i]);
  }
  return text;
}

Regression linear(LinearFit fit, const std::vector<std::string>& names) {
  std::string formula = formula_of(fit, names);
  return {.linear = std::move(fit), .formula = std::move(formula)};
}

std::vector<std::size_t> all_rows(std::size_t count) {
  std::vector<std::size_t> rows(count);
  for (std::size_t i = 0; i < count; ++i) rows[i] = i;
  return rows;
}

Result<Regression> fit_trees(const std::vector<BoostOptions>& trees, bool resamples, const Design& design,
                             std::span<const double> targets) {
  std::vector<BoostedTrees> fitted;
  for (const BoostOptions& options : trees) {
    std::vector<std::size_t> rows = all_rows(targets.size());
    if (resamples) {
      Random random(options.seed);
      for (std::size_t& row : rows) row = random.below(rows.size());
    }
    std::vector<double> values;
    for (const std::size_t row : rows) values.push_back(targets[row]);
    ORRERY_TRY(fitted.emplace_back(), BoostedTrees::fit(features_of(design, rows), values, {}, options));
  }
  const std::string formula = fmt::format("{} trees", fitted.size() * fitted.front().trees());
  return Regression{.trees = std::move(fitted), .formula = formula};
}

BoostOptions one_tree(const Hyperparameters& values, std::size_t rows, std::uint64_t seed) {
  BoostOptions options;
  options.trees = 1;
  options.learning_rate = 1;
  options.l2 = 0;
  options.leaves = 1 << std::min(12, static_cast<int>(values.at("max_depth")));
  options.min_rows =
      std::max(1, static_cast<int>(std::ceil(values.at("min_samples_leaf") * static_cast<double>(rows))));
  options.row_share = options.column_share = 1;
  options.seed = seed;
  options.threads = 1;
  return options;
}

Result<LinearFit> fit_ridge(const Design& design, std::span<const double> targets, double alpha) {
  // Two equal formulations: l2 of Ridge is per row and standardised column, so a column √alpha below the data does it.
  Design wider;
  const std::size_t rows = targets.size(), columns = design.columns();
  std::vector<double> ones(rows + columns, 0), padded(targets.begin(), targets.end());
  std::fill_n(ones.begin(), rows, 1.0);
  padded.resize(rows + columns);
  wider.add("1", std::move(ones));
  for (std::size_t i = 0; i < columns; ++i) {
    std::vector<double> values(design.column(i).begin(), design.column(i).end());
    values.resize(rows + columns);
    values[rows + i] = std::sqrt(alpha);
    wider.add(design.names()[i], std::move(values));
  }
  ORRERY_TRY(LinearFit fit, least_squares(wider, padded, false));
  fit.intercept = fit.coefficients.front();
  fit.coefficients.erase(fit.coefficients.begin());
  fit.standard_errors.clear();
  return fit;
}

Result<LinearFit> fit_non_negative(const Design& design, std::span<const double> targets, bool has_intercept,
                                   bool is_relative) {
  std::vector<double> weights;
  for (std::size_t i = 0; is_relative && i < targets.size(); ++i) {
    if (!(targets[i] > 0)) return Error::invalid(fmt::format("Relative: the target of row {} is not above 0", i));
    weights.push_back(1 / targets[i]);
  }
  if (!has_intercept) return non_negative_least_squares(design, targets, weights);
  Design wider;
  wider.add("1", std::vector<double>(targets.size(), 1.0));
  for (std::size_t i = 0; i < design.columns(); ++i) {
    wider.add(design.names()[i], std::vector<double>(design.column(i).begin(), design.column(i).end()));
  }
  ORRERY_TRY(LinearFit fit, non_negative_least_squares(wider, targets, weights));
  fit.intercept = fit.coefficients.front();
  fit.coefficients.erase(fit.coefficients.begin());
  return fit;
}

Result<LinearFit> fit_stepwise(const Design& design, std::span<const double> targets, const Hyperparameters& values) {
  const StepwiseOptions options{.rule = values.at("partial") != 0 ? StepwiseRule::kPartial : StepwiseRule::kResidual,
                                .p_add = values.at("p_to_add"),
                                .p_remove = values.at("p_to_remove"),
                                .steps_max = static_cast<int>(values.at("max_iter"))};
  ORRERY_TRY(const StepwiseFit chosen, stepwise(design, targets, options));
  LinearFit fit{.intercept = chosen.fit.intercept, .coefficients = std::vector<double>(design.columns())};
  for (std::size_t i = 0; i < chosen.columns.size(); ++i) {
    fit.coefficients[chosen.columns[i]] = chosen.fit.coefficients[i];
  }
  return fit;
}

Result<LinearFit> fit_linear(const std::string& technique, const Hyperparameters& values, const Design& design,
                             std::span<const double> targets) {
  if (technique == "LRRidge") return fit_ridge(design, targets, values.at("alpha"));
  if (technique == "Stepwise") return fit_stepwise(design, targets, values);
  return fit_non_negative(design, targets, values.at("fit_intercept") != 0, technique == "Relative");
}

bool is_of_trees(const std::string& technique) {
  return technique == "DecisionTree" || technique == "RandomForest" || technique == "XGBoost";
}

std::vector<BoostOptions> tree_options(const std::string& technique, const Hyperparameters& values, std::size_t rows,
                                       std::uint64_t seed) {
  if (technique == "XGBoost") {
    BoostOptions options;
    options.trees = static_cast<int>(values.at("n_estimators"));
    options.learning_rate = values.at("learning_rate");
    options.leaves = static_cast<int>(values.at("max_leaves"));
    options.l2 = values.at("reg_lambda");
    options.min_rows = 1;
    options.row_share = options.column_share = 1;
    options.seed = seed;
    options.threads = 1;
    return {options};
  }
  std::vector<BoostOptions> forest;
  const int trees = technique == "DecisionTree" ? 1 : static_cast<int>(values.at("n_estimators"));
  for (int i = 0; i < trees; ++i) forest.push_back(one_tree(values, rows, seed + static_cast<std::uint64_t>(i)));
  return forest;
}

}  // namespace

double Regression::predict(std::span<const double> row) const {
  if (trees.empty()) {
    double sum = linear.intercept;
    for (std::size_t i = 0; i < linear.coefficients.size(); ++i) sum += linear.coefficients[i] * row[i];
    return sum;
  }
  std::vector<float> values(row.begin(), row.end());
  double sum = 0;
  for (const BoostedTrees& tree : trees) sum += tree.predict(values);
  return sum / static_cast<double>(trees.size());
}

double Regression::predict(const Design& design, std::size_t row) const {
  std::vector<double> values(design.columns());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = design.column(i)[row];
  return predict(values);
}

Features features_of(const Design& design, std::span<const std::size_t> rows) {
  Features features(design.names());
  std::vector<float> values(design.columns());
  for (const std::size_t row : rows) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(design.column(i)[row]);
    features.add(values);
  }
  return features;
}

Result<Regression> fit_technique(const std::string& technique, const Hyperparameters& given, const Design& design,
                                 std::span<const double> targets, bool normalise, std::uint64_t seed) {
  const auto defaults = technique_defaults().find(technique);
  if (defaults == technique_defaults().end()) return Error::invalid("unknown technique " + technique);
  Hyperparameters values = given;
  values.insert(defaults->second.begin(), defaults->second.end());
  if (is_of_trees(technique)) {
    return fit_trees(tree_options(technique, values, targets.size(), seed), technique == "RandomForest", design,
                     targets);
  }
  if (!normalise) {
    ORRERY_TRY(LinearFit fit, fit_linear(technique, values, design, targets));
    return linear(std::move(fit), design.names());
  }
  if (technique == "Relative") return Error::invalid("Relative needs targets as they are: normalization = False");
  const Scaler scaler = Scaler::of(design, targets);
  ORRERY_TRY(LinearFit fit, fit_linear(technique, values, scaler.scaled(design), scaler.scaled(targets)));
  return linear(scaler.unscaled(std::move(fit)), design.names());
}

double mean_percentage_error(std::span<const double> predicted, std::span<const double> targets) {
  constexpr double kLeast = 2.2e-16;
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    sum += std::abs(predicted[i] - targets[i]) / std::max(std::abs(targets[i]), kLeast);
  }
  return targets.empty() ? 0 : sum / static_cast<double>(targets.size());
}

}  // namespace orrery::predict
