#include "lab/evaluate/profet_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>

#include "base/csv.h"
#include "base/text.h"
#include "lab/methods/profile_transfer.h"
#include "predict/learn/conformal.h"
#include "predict/operators/operator_data.h"

namespace orrery::lab {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kCalibrationFolds = 4;
constexpr double kPublishedLogLinear = 0.179;

struct Instance {
  std::string_view anchor, column;
};
constexpr Instance kInstances[] = {
    {"g3", "g3s.xlarge"}, {"g4", "g4dn.xlarge"}, {"p2", "p2.xlarge"}, {"p3", "p3.2xlarge"}};

// Profiles on one instance, and what the same steps took on another.
struct Direction {
  std::vector<StepProfile> profiles;
  std::vector<double> target_us;
  std::vector<std::string> models;  // by profile
};

Result<StepProfile> parse_profile(const CsvTable& table, const CsvRow& row) {
  StepProfile profile;
  ORRERY_TRY(const std::size_t model, table.column("model"));
  profile.model = row.fields[model];
  ORRERY_TRY(profile.batch, positive_field(table, row, "batchsize"));
  ORRERY_TRY(profile.pixels, positive_field(table, row, "pixels"));
  ORRERY_TRY(const double seconds, positive_field(table, row, "batch_latency"));
  profile.step_us = seconds * 1e6;
  constexpr std::string_view kPrefix = "Device_";
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    if (!table.header[c].starts_with(kPrefix)) continue;
    const double time = parse_number(row.fields[c]).value_or(0);
    if (time > 0) profile.device_us[table.header[c].substr(kPrefix.size())] += time;
  }
  return profile;
}

Result<Direction> read_direction(const CsvTable& table, std::string_view target) {
  if (const auto column = table.column(target); !column) return column.error();
  Direction direction;
  for (const CsvRow& row : table.rows) {
    const auto time = positive_field(table, row, target);
    if (!time) continue;  // did not run there
    ORRERY_TRY(StepProfile profile, parse_profile(table, row));
    direction.models.push_back(profile.model);
    direction.profiles.push_back(std::move(profile));
    direction.target_us.push_back(*time);
  }
  return direction;
}

using Rows = std::vector<std::size_t>;

Result<ProfileTransfer> fit_on(const Direction& data, const Rows& rows, const SuiteInput& input) {
  std::vector<const StepProfile*> profiles;
  std::vector<double> targets;
  for (const std::size_t row : rows) {
    profiles.push_back(&data.profiles[row]);
    targets.push_back(data.target_us[row]);
  }
  return ProfileTransfer::fit(profiles, targets, profile_boost_options(input.seed, input.threads));
}

// Models of the rows are dealt out to folds; each fold is predicted from the others.
Result<Conformal> calibrate(const Direction& data, const Rows& rows, const SuiteInput& input) {
  std::vector<std::string> models;
  for (const std::size_t row : rows) models.push_back(data.models[row]);
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  if (models.size() < 2) return Error::invalid("intervals need profiles of two models at least");
  const std::size_t folds = std::min(kCalibrationFolds, models.size());
  std::vector<CalibrationPair> pairs;
  for (std::size_t fold = 0; fold < folds; ++fold) {
    Rows inside, outside;
    for (const std::size_t row : rows) {
      const auto place = std::lower_bound(models.begin(), models.end(), data.models[row]) - models.begin();
      (static_cast<std::size_t>(place) % folds == fold ? outside : inside).push_back(row);
    }
    ORRERY_TRY(const ProfileTransfer model, fit_on(data, inside, input));
    for (const std::size_t row : outside) {
      pairs.push_back({model.predict_us(data.profiles[row]), data.target_us[row], {}, data.models[row]});
    }
  }
  return Conformal::fit(pairs);
}

std::vector<float> log_row(const StepProfile& profile) {
  return {static_cast<float>(std::log(profile.step_us)), static_cast<float>(std::log(profile.batch)),
          static_cast<float>(std::log(profile.pixels))};
}

Result<Ridge> fit_log_linear(const Direction& data, const Rows& rows) {
  Features features({"step", "batch", "pixels"});
  std::vector<double> targets;
  for (const std::size_t row : rows) {
    features.add(log_row(data.profiles[row]));
    targets.push_back(std::log(data.target_us[row]));
  }
  return Ridge::fit(features, targets, {});
}

Status score_fold(const Direction& fitted, const Rows& rows, const Direction& scored, const Rows& targets,
                  const std::string& group, const SuiteInput& input, std::vector<Case>& ours,
                  std::vector<Case>& baseline) {
  ORRERY_TRY(const ProfileTransfer model, fit_on(fitted, rows, input));
  ORRERY_TRY(const Conformal conformal, calibrate(fitted, rows, input));
  ORRERY_TRY(const Ridge log_linear, fit_log_linear(fitted, rows));
  for (const std::size_t row : targets) {
    const double measured = scored.target_us[row] * 1e-3;
    const double predicted = model.predict_us(scored.profiles[row]) * 1e-3;
    const Interval interval = conformal.interval(predicted, "");
    ours.push_back({group, measured, predicted, interval.low, interval.high, true});
    const double other = std::exp(log_linear.predict(log_row(scored.profiles[row]))) * 1e-3;
    baseline.push_back({"log-linear on the step time", measured, other, kNan, kNan, true});
  }
  return {};
}

Status score_direction(const Direction& fitted, const Direction* test, const std::string& group,
                       const SuiteInput& input, std::vector<Case>& ours, std::vector<Case>& baseline) {
  Rows all(fitted.profiles.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  if (test != nullptr) {
    Rows targets(test->profiles.size());
    for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = i;
    return score_fold(fitted, all, *test, targets, group, input, ours, baseline);
  }
  for (const std::string& model : std::set<std::string>(fitted.models.begin(), fitted.models.end())) {
    Rows inside, outside;
    for (const std::size_t row : all) (fitted.models[row] == model ? outside : inside).push_back(row);
    ORRERY_TRY_VOID(score_fold(fitted, inside, fitted, outside, group, input, ours, baseline));
  }
  return {};
}

Result<CsvTable> read_anchor(const SuiteInput& input, const std::string& folder, std::string_view anchor) {
  ORRERY_TRY(const std::string csv, read_data(input.files, folder, fmt::format("anchor_{}.csv.gz", anchor)));
  return parse_csv(csv);
}

}  // namespace

Result<SuiteReport> run_profet_suite(const SuiteInput& input) {
  const double start = input.now_s();
  const std::string train = training_folder(input, "profet");
  SuiteReport report{.suite = "profet", .seed = input.seed};
  std::vector<Case> baseline;
  std::vector<double> direction_errors;
  for (const Instance& anchor : kInstances) {
    ORRERY_TRY(const CsvTable table, read_anchor(input, train, anchor.anchor));
    CsvTable test_table;
    if (!input.test.empty()) {
      ORRERY_TRY(test_table, read_anchor(input, input.test, anchor.anchor));
    }
    for (const Instance& target : kInstances) {
      if (target.anchor == anchor.anchor) continue;
      const double direction_start = input.now_s();
      ORRERY_TRY(const Direction fitted, read_direction(table, target.column));
      Direction test;
      if (!input.test.empty()) {
        ORRERY_TRY(test, read_direction(test_table, target.column));
      }
      std::vector<Case> ours;
      ORRERY_TRY_VOID(score_direction(fitted, input.test.empty() ? nullptr : &test,
                                      fmt::format("{} to {}", anchor.anchor, target.anchor), input, ours, baseline));
      direction_errors.push_back(score_of(ours).mre);
      report.add(ours, input.now_s() - direction_start);
    }
  }
  report.add_total(input.now_s() - start);
  report.rows.push_back({"log-linear on the step time", score_of(baseline, input.now_s() - start)});
  report.publish("all", kPublishedLogLinear, "log-linear on latency");
  double mean = 0;
  for (const double error : direction_errors) mean += error / static_cast<double>(direction_errors.size());
  report.notes = {
      fmt::format("Mean over the {} directions: {:.1f} %.", direction_errors.size(), 100 * mean),
      input.test.empty() ? "Each model was left out in turn." : "Models of the test folder were not fitted."};
  return report;
}

}  // namespace orrery::lab
