#include "predict/regression/regression_model.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "predict/analytic/analytic.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kFolds = kRegressionFits - 1;
constexpr double kLeastShare = 1e-9;  // of the measured time: what a prediction that is not above 0 counts as

// The rows of each configuration: those that agree in every column.
std::vector<std::vector<std::size_t>> configurations_of(const Design& raw) {
  std::map<std::vector<double>, std::vector<std::size_t>> rows;
  for (std::size_t row = 0; row < raw.rows(); ++row) {
    std::vector<double> values;
    for (std::size_t column = 0; column < raw.columns(); ++column) values.push_back(raw.column(column)[row]);
    rows[std::move(values)].push_back(row);
  }
  std::vector<std::vector<std::size_t>> configurations;
  for (auto& [values, members] : rows) configurations.push_back(std::move(members));
  return configurations;
}

struct Best {
  std::string technique;
  std::vector<std::size_t> columns;
  Regression regression;
};

// The best regression of a campaign, fitted on every row of its data.
Result<Best> best_of(const Campaign& campaign, const Prepared& data) {
  ORRERY_TRY(const CampaignResult result, run_campaign(campaign, data));
  const TechniqueResult& best = result.techniques.front();
  Best chosen{.technique = best.technique, .columns = {}, .regression = {}};
  for (const std::string& name : best.columns) {
    const auto& names = data.features.names();
    chosen.columns.push_back(static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
  }
  ORRERY_TRY(chosen.regression,
             fit_technique(best.technique, best.hyperparameters, data.features.columns_at(chosen.columns), data.targets,
                           campaign.normalise, campaign.seed));
  return chosen;
}

// Those that the features are made of, with what was measured of them.
std::vector<MeasuredColumn> columns_of(const std::vector<FeatureRecipe>& features, const Prepared& data) {
  std::vector<MeasuredColumn> columns;
  std::set<std::string> seen;
  for (const FeatureRecipe& recipe : features) {
    for (const FeatureTerm& term : recipe) {
      if (!seen.insert(term.column).second) continue;
      MeasuredColumn& column = columns.emplace_back(MeasuredColumn{.name = term.column});
      for (const FeatureTerm& raw : data.raw_terms) {
        if (raw.form == TermForm::kLevel && raw.column == term.column) column.levels.push_back(raw.level);
      }
      const auto& names = data.raw.names();
      const auto found = std::find(names.begin(), names.end(), term.column);
      if (term.form == TermForm::kLevel || found == names.end()) continue;
      const auto values = data.raw.column(static_cast<std::size_t>(found - names.begin()));
      const auto [least, most] = std::minmax_element(values.begin(), values.end());
      column.least = *least;
      column.most = *most;
    }
  }
  return columns;
}

std::string known_facts() {
  std::string text;
  for (const FactName& fact : fact_names()) text += fmt::format("{}{}", text.empty() ? "" : ", ", fact.name);
  return text;
}

// What is wrong with the columns of a run, if anything is.
Status check_columns(const RegressionModel& model, const RunFacts& facts) {
  std::string missing, example;
  for (const MeasuredColumn& column : model.columns) {
    const auto found = facts.find(column.name);
    if (found == facts.end()) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", quote(column.name));
      example += fmt::format("{}{}={}", example.empty() ? "" : ",", column.name,
                             column.levels.empty() ? fmt::format("{:g}", column.most) : column.levels.front());
      continue;
    }
    const bool is_text = std::holds_alternative<std::string>(found->second);
    if (is_text == column.levels.empty()) {
      return Error::invalid(fmt::format("the column {} is {}, not {}", quote(column.name),
                                        column.levels.empty() ? "a number" : "a text",
                                        is_text ? quote(std::get<std::string>(found->second))
                                                : fmt::format("{:g}", std::get<double>(found->second))));
    }
  }
  if (missing.empty()) return {};
  return Error::unsupported(fmt::format(
      "the table has columns that Orrery does not know of a run: {}; give them (--fact {}), or name columns "
      "as Orrery does: {}",
      missing, example, known_facts()));
}

Result<double> term_value(const FeatureTerm& term, const RunFacts& facts) {
  const Fact& fact = facts.find(term.column)->second;
  if (term.form == TermForm::kLevel) return std::get<std::string>(fact) == term.level ? 1.0 : 0.0;
  const double value = std::get<double>(fact);
  if (term.form == TermForm::kInverse && value == 0) {
    return Error::invalid(fmt::format("the column {} is 0, which has no inverse", quote(term.column)));
  }
  if (term.form == TermForm::kLog && !(value > 0)) {
    return Error::invalid(fmt::format("the column {} is {:g}, which has no logarithm", quote(term.column), value));
  }
  return term.form == TermForm::kInverse ? 1 / value : term.form == TermForm::kLog ? std::log(value) : value;
}

}  // namespace

std::optional<double> unit_of_name(std::string_view target) {
  struct Unit {
    std::string_view ending;
    double seconds;
  };
  constexpr Unit kUnits[] = {{"_us", 1e-6}, {"_ms", 1e-3}, {"_min", 60}, {"_h", 3600}, {"_s", 1}};
  for (const Unit& unit : kUnits) {
    if (to_lower(target).ends_with(unit.ending)) return unit.seconds;
  }
  return std::nullopt;
}

Result<RegressionModel> fit_regression(const Campaign& campaign, const Prepared& data, const TableFacts& table,
                                       const std::function<void()>& progress) {
  RegressionModel model{.table = table, .target = campaign.target, .technique = {}};
  for (std::size_t row = 0; row < data.targets.size(); ++row) {
    if (!(data.targets[row] > 0)) {
      return Error::invalid(
          fmt::format("{}: row {} is {:g}; times are above 0", campaign.target, row + 1, data.targets[row]));
    }
  }
  std::vector<std::vector<std::size_t>> configurations = configurations_of(data.raw);
  model.configurations = configurations.size();
  if (configurations.size() < 2 * kFolds) {
    return Error::invalid(fmt::format("{} different configurations; {} are needed to measure errors on some left out",
                                      configurations.size(), 2 * kFolds));
  }
  ORRERY_TRY(Best best, best_of(campaign, data));
  if (progress) progress();
  model.technique = best.technique;
  for (const std::size_t column : best.columns) model.features.push_back(data.recipes[column]);
  model.columns = columns_of(model.features, data);
  model.regression = std::move(best.regression);
  model.seed = campaign.seed;
  model.rows = data.targets.size();

  Random random = Random(campaign.seed).split("left out");
  for (std::size_t i = configurations.size(); i > 1; --i) {
    std::swap(configurations[i - 1], configurations[random.below(i)]);
  }
  // Nothing is judged in these campaigns but where hyper-parameters are chosen.
  Campaign again = campaign;
  again.validation = Validation::kAll;
  again.runs = 1;
  std::vector<CalibrationPair> pairs;
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<std::size_t> known, left_out;
    for (std::size_t i = 0; i < configurations.size(); ++i) {
      std::vector<std::size_t>& rows = i % kFolds == fold ? left_out : known;
      rows.insert(rows.end(), configurations[i].begin(), configurations[i].end());
    }
    std::sort(known.begin(), known.end());
    ORRERY_TRY(const Best other, best_of(again, data.rows_at(known)));
    const Design design = data.features.columns_at(other.columns);
    for (const std::size_t row : left_out) {
      const double measured = data.targets[row];
      const double predicted = std::max(kLeastShare * measured, other.regression.predict(design, row));
      pairs.push_back({predicted, measured});
      model.error += std::abs(predicted / measured - 1);
    }
    if (progress) progress();
  }
  model.error /= static_cast<double>(pairs.size());
  ORRERY_TRY(model.intervals, Conformal::fit(pairs));
  return model;
}

Result<RegressionAnswer> answer_of(const RegressionModel& model, const RunFacts& facts) {
  ORRERY_TRY_VOID(check_columns(model, facts));
  RegressionAnswer answer;
  for (const MeasuredColumn& column : model.columns) {
    const Fact& fact = facts.find(column.name)->second;
    if (const auto* text = std::get_if<std::string>(&fact)) {
      if (std::find(column.levels.begin(), column.levels.end(), *text) == column.levels.end()) {
        answer.outside.push_back(fmt::format("{} {} was not measured", column.name, quote(*text)));
      }
      continue;
    }
    const double value = std::get<double>(fact);
    if (value < column.least || value > column.most) {
      answer.outside.push_back(
          fmt::format("{} is {:g}, measured were {:g} to {:g}", column.name, value, column.least, column.most));
    }
  }
  std::vector<double> row;
  for (const FeatureRecipe& recipe : model.features) {
    double product = 1;
    for (const FeatureTerm& term : recipe) {
      ORRERY_TRY(const double value, term_value(term, facts));
      product *= value;
    }
    row.push_back(product);
  }
  const double value = model.regression.predict(row);
  if (!(value > 0) || !std::isfinite(value)) {
    std::string why;
    for (const std::string& one : answer.outside) why += "; " + one;
    return Error::unsupported(
        fmt::format("the regression says {} = {:g} here, which is no time{}", model.target, value, why));
  }
  answer.seconds = value * model.table.unit_s;
  return answer;
}

Result<Prediction> RegressionPredictor::predict(const workload::TrainingRun& run,
                                                const hardware::Placement& placement) const {
  RunFacts facts = run_facts(run, placement);
  for (const auto& [name, fact] : given_) facts[name] = fact;
  ORRERY_TRY(RegressionAnswer answer, answer_of(model_, facts));
  const TableFacts& table = model_.table;
  if (!table.model.empty() && table.model != run.graph.name()) {
    answer.outside.push_back(fmt::format("the table is of {}, not of {}", table.model, run.graph.name()));
  }
  if (!table.device.empty() && hardware::find_device_or_null(table.device) != placement.device) {
    answer.outside.push_back(fmt::format("the table is of {}, not of {}", table.device, placement.device->name));
  }
  ORRERY_TRY(Prediction prediction, AnalyticPredictor().predict(run, placement));
  const double iteration = table.time_of == TimeOf::kRun ? answer.seconds / run.steps : answer.seconds;
  scale_times(prediction, iteration / prediction.iteration.value.value());
  const Interval interval = model_.intervals.interval(1, "");
  prediction.in_domain = prediction.calibrated = answer.outside.empty();
  prediction.learned_share = 1;
  set_interval(prediction, prediction.in_domain ? interval.low : std::min(interval.low, kFormulaLow),
               prediction.in_domain ? interval.high : std::max(interval.high, kFormulaHigh));
  prediction.predictor = name();
  prediction.made_by =
      fmt::format("regression ({} of {} rows, {} configurations; mean error {:.1f} % on rows left out)",
                  model_.technique, model_.rows, model_.configurations, 100 * model_.error);
  for (const std::string& one : answer.outside) prediction.notes.push_back("outside what was measured: " + one);
  if (!answer.outside.empty()) prediction.notes.emplace_back("the interval is at least that of the formulas");
  prediction.notes.emplace_back("memory, and how the time splits into phases and operators, are formulas");
  return prediction;
}

}  // namespace orrery::predict
