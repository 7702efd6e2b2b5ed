#include "predict/regression/regression_model.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "predict/analytic/analytic.h"
#include "predict/learn/conformal.h"

namespace orrery::predict {

namespace {

constexpr std::size_t kFolds = 5;
constexpr double kLeastShare = 1e-9;  // of the measured time: what a prediction that is not above 0 counts as

using RowList = std::vector<std::size_t>;

// Rows by what they have in some columns of the table.
std::vector<RowList> groups_of(const Design& raw, const std::vector<std::size_t>& columns) {
  std::map<std::vector<double>, RowList> rows;
  for (std::size_t row = 0; row < raw.rows(); ++row) {
    std::vector<double> values;
    for (const std::size_t column : columns) values.push_back(raw.column(column)[row]);
    rows[std::move(values)].push_back(row);
  }
  std::vector<RowList> groups;
  for (auto& [values, members] : rows) groups.push_back(std::move(members));
  return groups;
}

// The raw columns that a column of the table became: itself, or its levels.
std::vector<std::size_t> raw_columns(const Prepared& data, std::string_view column) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < data.raw_terms.size(); ++i) {
    if (column.empty() || data.raw_terms[i].column == column) places.push_back(i);
  }
  return places;
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

// A configuration's value of each column: a number, or the place of a text among the levels.
std::vector<std::vector<double>> configurations_of(const Prepared& data, const std::vector<MeasuredColumn>& columns) {
  std::set<std::vector<double>> configurations;
  for (std::size_t row = 0; row < data.raw.rows(); ++row) {
    std::vector<double> values;
    for (const MeasuredColumn& column : columns) {
      const std::vector<std::size_t> places = raw_columns(data, column.name);
      if (column.levels.empty()) {
        values.push_back(data.raw.column(places.front())[row]);
        continue;
      }
      double level = 0;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (data.raw.column(places[i])[row] != 0) level = static_cast<double>(i);
      }
      values.push_back(level);
    }
    configurations.insert(std::move(values));
  }
  return {configurations.begin(), configurations.end()};
}

// Runs the campaign without parts of the groups and says how far it is off on them.
Result<LeftOutColumn> leave_out(const Campaign& campaign, const Prepared& data, std::string column,
                                std::vector<RowList> groups, const std::function<void()>& progress) {
  Random random = Random(campaign.seed).split("left out").split(column);
  for (std::size_t i = groups.size(); i > 1; --i) std::swap(groups[i - 1], groups[random.below(i)]);
  const std::size_t folds = std::min(kFolds, groups.size());
  LeftOutColumn result{.column = std::move(column)};
  std::vector<CalibrationPair> pairs;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    RowList known, left_out;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      RowList& rows = i % folds == fold ? left_out : known;
      rows.insert(rows.end(), groups[i].begin(), groups[i].end());
    }
    std::sort(known.begin(), known.end());
    ORRERY_TRY(const Best other, best_of(campaign, data.rows_at(known)));
    const Design design = data.features.columns_at(other.columns);
    for (const std::size_t row : left_out) {
      const double measured = data.targets[row];
      const double predicted = std::max(kLeastShare * measured, other.regression.predict(design, row));
      pairs.push_back({predicted, measured});
      result.error += std::abs(predicted / measured - 1);
    }
    if (progress) progress();
  }
  result.rows = pairs.size();
  result.error /= static_cast<double>(pairs.size());
  ORRERY_TRY(const Conformal conformal, Conformal::fit(pairs));
  const Interval interval = conformal.interval(1, "");
  result.low = std::min(1.0, interval.low);
  result.high = std::max(1.0, interval.high);
  return result;
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
                                       const CampaignProgress& progress) {
  RegressionModel model{.table = table, .target = campaign.target, .technique = {}};
  for (std::size_t row = 0; row < data.targets.size(); ++row) {
    if (!(data.targets[row] > 0)) {
      return Error::invalid(
          fmt::format("{}: row {} is {:g}; times are above 0", campaign.target, row + 1, data.targets[row]));
    }
  }
  const std::vector<RowList> configurations = groups_of(data.raw, raw_columns(data, ""));
  if (configurations.size() < 2 * kFolds) {
    return Error::invalid(fmt::format("{} different configurations; {} are needed to measure errors on some left out",
                                      configurations.size(), 2 * kFolds));
  }
  ORRERY_TRY(Best best, best_of(campaign, data));
  model.technique = best.technique;
  for (const std::size_t column : best.columns) model.features.push_back(data.recipes[column]);
  model.columns = columns_of(model.features, data);
  model.configurations = configurations_of(data, model.columns);
  model.regression = std::move(best.regression);
  model.seed = campaign.seed;
  model.rows = data.targets.size();

  // Nothing is judged in these campaigns but where hyper-parameters are chosen.
  Campaign again = campaign;
  again.validation = Validation::kAll;
  again.runs = 1;
  std::vector<std::pair<std::string, std::vector<RowList>>> parts = {{"", configurations}};
  std::size_t all = 1 + kFolds, done = 1;
  for (const MeasuredColumn& column : model.columns) {
    std::vector<RowList> groups = groups_of(data.raw, raw_columns(data, column.name));
    if (groups.size() < 2) continue;
    all += std::min(kFolds, groups.size());
    parts.emplace_back(column.name, std::move(groups));
  }
  const auto advance = [&] {
    if (progress) progress(done, all);
    ++done;
  };
  advance();
  for (auto& [column, groups] : parts) {
    auto left_out = leave_out(again, data, column, std::move(groups), advance);
    // Of a column whose values cannot be told without one of them nothing is known: it is as bad as formulas.
    if (!left_out && !column.empty()) {
      model.left_out.push_back({.column = column, .rows = 0, .error = 1, .low = kFormulaLow, .high = kFormulaHigh});
      continue;
    }
    if (!left_out) return std::move(left_out).error();
    model.left_out.push_back(std::move(*left_out));
  }
  return model;
}

const LeftOutColumn& RegressionModel::worst() const {
  return *std::max_element(left_out.begin(), left_out.end(),
                           [](const auto& a, const auto& b) { return a.error < b.error; });
}

namespace {

// The interval of a run by what is nearest to it.
void add_interval(const RegressionModel& model, const RunFacts& facts, RegressionAnswer& answer) {
  constexpr double kUnknownLevel = -1;
  std::vector<double> run;
  for (const MeasuredColumn& column : model.columns) {
    const Fact& fact = facts.find(column.name)->second;
    if (const auto* text = std::get_if<std::string>(&fact)) {
      const auto found = std::find(column.levels.begin(), column.levels.end(), *text);
      run.push_back(found == column.levels.end() ? kUnknownLevel : static_cast<double>(found - column.levels.begin()));
    } else {
      run.push_back(std::get<double>(fact));
    }
  }
  std::size_t fewest = run.size() + 1;
  for (const std::vector<double>& configuration : model.configurations) {
    LeftOutColumn widest = model.left_out.front();
    std::vector<std::string> differs;
    for (std::size_t i = 0; i < run.size() && differs.size() <= fewest; ++i) {
      if (configuration[i] == run[i]) continue;
      differs.push_back(model.columns[i].name);
      for (const LeftOutColumn& one : model.left_out) {
        if (one.column != differs.back()) continue;
        widest.low = std::min(widest.low, one.low);
        widest.high = std::max(widest.high, one.high);
      }
    }
    const bool is_narrower = widest.high / widest.low < answer.high / answer.low;
    if (differs.size() > fewest || (differs.size() == fewest && !is_narrower)) continue;
    fewest = differs.size();
    answer.low = widest.low;
    answer.high = widest.high;
    answer.differs = std::move(differs);
  }
}

}  // namespace

Result<RegressionAnswer> answer_of(const RegressionModel& model, const RunFacts& facts) {
  ORRERY_TRY_VOID(check_columns(model, facts));
  RegressionAnswer answer;
  add_interval(model, facts, answer);
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
  prediction.in_domain = prediction.calibrated = answer.outside.empty();
  prediction.learned_share = 1;
  set_interval(prediction, prediction.in_domain ? answer.low : std::min(answer.low, kFormulaLow),
               prediction.in_domain ? answer.high : std::max(answer.high, kFormulaHigh));
  prediction.predictor = name();
  prediction.made_by =
      fmt::format("regression ({} of {} rows, {} configurations; mean error {:.1f} % on rows left out)",
                  model_.technique, model_.rows, model_.configurations.size(), 100 * model_.error());
  if (!answer.differs.empty()) {
    std::string columns;
    for (const std::string& one : answer.differs) columns += (columns.empty() ? "" : ", ") + one;
    prediction.notes.push_back("the nearest configuration that was measured has another " + columns);
  }
  for (const std::string& one : answer.outside) prediction.notes.push_back("outside what was measured: " + one);
  if (!answer.outside.empty()) prediction.notes.emplace_back("the interval is at least that of the formulas");
  prediction.notes.emplace_back("memory, and how the time splits into phases and operators, are formulas");
  return prediction;
}

}  // namespace orrery::predict
