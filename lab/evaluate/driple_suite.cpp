#include "lab/evaluate/driple_suite.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "base/plot/plots.h"
#include "lab/evaluate/left_out.h"
#include "lab/evaluate/resource_runs.h"
#include "predict/driple/layer_runs.h"

namespace orrery::lab {

namespace {

constexpr double kSmallest = 1e-9;  // a prediction that an interval can be put around by factors

struct Choice {
  ResourceModelKind kind;
  ResourcePredictor predictor;     // fitted on the training part
  ResourcePredictions validation;  // what it predicted there
  std::string note;
};

Result<Choice> choose(const ResourceRuns& parts, const SuiteInput& input) {
  Choice best;
  double least = std::numeric_limits<double>::infinity();
  std::string errors;
  for (const ResourceModelKind& kind : resource_model_kinds(input)) {
    const double begin = input.now_s();
    ORRERY_TRY(const ResourcePredictor predictor, kind.fit(parts.train, parts.validation));
    ORRERY_TRY(ResourcePredictions predicted, predictor(parts.validation));
    const double error = normalised_errors(parts.validation, predicted, parts.train).back().range;
    errors +=
        fmt::format("{}{} {:.4f} ({:.1f} s)", errors.empty() ? "" : ", ", kind.name, error, input.now_s() - begin);
    if (error >= least) continue;
    least = error;
    best = {kind, predictor, std::move(predicted), {}};
  }
  best.note = fmt::format("validation, RMSE / range: {}; chosen: {}", errors, best.kind.name);
  return best;
}

std::string metric_name(std::size_t metric) {
  return std::string(kResourceTargets[metric].name);
}

// From the errors of the chosen model on the validation part, metric by metric.
Result<Conformal> calibrated(const Examples& examples, const ResourcePredictions& predicted) {
  std::vector<CalibrationPair> pairs;
  for (std::size_t i = 0; i < examples.size(); ++i) {
    for (std::size_t metric = 0; metric < kResourceTargets.size(); ++metric) {
      if (!(examples[i]->used[metric] > 0)) continue;
      pairs.push_back({std::max(kSmallest, predicted[i][metric]), examples[i]->used[metric], metric_name(metric)});
    }
  }
  return Conformal::fit(pairs);
}

std::vector<Case> cases_of(const Examples& examples, const ResourcePredictions& predicted, const Conformal& conformal) {
  std::vector<Case> cases;
  for (std::size_t metric = 0; metric < kResourceTargets.size(); ++metric) {
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const Case one{.group = metric_name(metric),
                     .measured = examples[i]->used[metric],
                     .predicted = std::max(kSmallest, predicted[i][metric])};
      cases.push_back(with_interval(one, conformal, one.group));
    }
  }
  return cases;
}

// Metrics have different units: each relative to its largest.
ReportFigure figure_of(const std::vector<Case>& cases) {
  plot::ScatterPlot scatter{.heading = {.title = "Resource use, predicted and measured"},
                            .x = {.title = "Measured, share of the largest"},
                            .y = {.title = "Predicted, share of the largest"},
                            .diagonal = true,
                            .size = {720, 620}};
  std::map<std::string, double> largest;
  for (const Case& one : cases) largest[one.group] = std::max(largest[one.group], one.measured);
  for (const Case& one : cases) {
    if (scatter.series.empty() || scatter.series.back().name != one.group)
      scatter.series.push_back({.name = one.group});
    const double scale = std::max(kSmallest, largest[one.group]);
    scatter.series.back().points.push_back({one.measured / scale, one.predicted / scale, ""});
  }
  return {"resources", plot::scatter_plot(scatter)};
}

void add_errors(SuiteReport& report, const std::vector<NormalisedErrors>& errors) {
  for (std::size_t i = 0; i < errors.size() && i < report.rows.size(); ++i) {
    report.rows[i].more = {
        {"nrmse_range", errors[i].range}, {"nrmse_mean", errors[i].mean}, {"nrmse_max_train", errors[i].max_train}};
  }
}

}  // namespace

Result<SuiteReport> run_driple_suite(const SuiteInput& input) {
  const double begin = input.now_s();
  SuiteReport report{.suite = "driple", .seed = input.seed};
  ORRERY_TRY(const ResourceRuns parts, read_resource_runs(input));
  ORRERY_TRY(Choice choice, choose(parts, input));
  Examples both = parts.train;
  both.insert(both.end(), parts.validation.begin(), parts.validation.end());
  if (!choice.kind.watches_validation) {
    ORRERY_TRY(choice.predictor, choice.kind.fit(both, parts.validation));
  }
  ORRERY_TRY(const ResourcePredictions predicted, choice.predictor(parts.test));
  ORRERY_TRY(const Conformal conformal, calibrated(parts.validation, choice.validation));
  const std::vector<Case> cases = cases_of(parts.test, predicted, conformal);
  report.add(cases, input.now_s() - begin);
  report.add_total(input.now_s() - begin);
  add_errors(report, normalised_errors(parts.test, predicted, both));
  report.notes.push_back(fmt::format("{} runs to fit, {} to choose by, {} scored", parts.train.size(),
                                     parts.validation.size(), parts.test.size()));
  report.notes.push_back(choice.note);
  report.figures.push_back(figure_of(cases));
  return report;
}

}  // namespace orrery::lab
