#include "lab/methods/run_law.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/check.h"

namespace orrery::lab {

namespace {

constexpr double kTera = 1e12;
constexpr double kLeastTime = 1e-9;  // seconds

// One column, or one for each kind of host.
void add_by_host(double value, bool by_host, int host, std::vector<double>& values) {
  values.push_back(by_host && host != 0 ? 0 : value);
  if (by_host) values.push_back(host != 0 ? value : 0);
}

std::vector<double> compute_terms(const MeasuredRun& run, const RunForm& form) {
  const double b = run.batch, n = run.gpus, d = run.modules;
  if (form.terms == RunTerms::kScale) return {1, b / n, b, (n - 1) / n, n - 1};
  if (form.terms == RunTerms::kModules) return {1, b, d, d * b};
  const double peak = run.peak / kTera;
  std::vector<double> values = {(n - 1) / n};
  add_by_host(1, form.device.hosts, run.host, values);
  if (form.device.device) values.insert(values.end(), {1 / peak, b / n / peak});
  if (form.device.images) values.push_back(b / n);
  return values;
}

OverlapRow row_of(const MeasuredRun& run, const RunForm& form) {
  OverlapRow row{{1}, compute_terms(run, form), {run.batch / run.threads}};
  if (form.terms == RunTerms::kModules) row.always.push_back(run.batch);
  add_by_host(run.batch, form.terms == RunTerms::kDevice && form.device.host_loading, run.host, row.load);
  for (double& value : row.compute) value *= run.iterations;
  for (double& value : row.load) value *= run.iterations;
  return row;
}

// Of |log(predicted / measured)| over the runs of a split.
struct FormError {
  double mean = 0;
  double deviation = 0;  // of the mean: its standard error
};

Result<FormError> error_of(const RunForm& form, const RunSplit& split) {
  ORRERY_TRY(const RunLaw law, RunLaw::fit(split.known, split.weights, form));
  const auto count = static_cast<double>(split.asked.size());
  double sum = 0, squares = 0;
  for (const MeasuredRun& run : split.asked) {
    const double off = std::abs(std::log(law.seconds(run) / run.seconds));
    sum += off;
    squares += off * off;
  }
  const double mean = sum / count;
  return FormError{mean, std::sqrt(std::max(0.0, squares / count - mean * mean) / count)};
}

// The first within one standard error of the best.
std::size_t simplest_good(std::span<const FormError> errors) {
  const auto best = std::min_element(errors.begin(), errors.end(),
                                     [](const FormError& a, const FormError& b) { return a.mean < b.mean; });
  const double limit = best->mean + best->deviation;
  return static_cast<std::size_t>(
      std::find_if(errors.begin(), errors.end(), [&](const FormError& one) { return one.mean <= limit; }) -
      errors.begin());
}

}  // namespace

Result<RunLaw> RunLaw::fit(std::span<const MeasuredRun> runs, std::span<const double> weights, const RunForm& form) {
  std::vector<OverlapRow> rows;
  std::vector<double> seconds;
  for (const MeasuredRun& run : runs) {
    if (!(run.iterations > 0 && run.batch > 0 && run.gpus >= 1 && run.threads >= 1)) {
      return Error::invalid("a run needs iterations, a batch, a GPU and a thread");
    }
    if (form.terms == RunTerms::kDevice && !(run.peak > 0))
      return Error::invalid("a run on a GPU whose peak is not known");
    rows.push_back(row_of(run, form));
    seconds.push_back(run.seconds);
  }
  RunLaw law;
  law.form_ = form;
  ORRERY_TRY(law.fit_, OverlapFit::fit(rows, seconds, weights, form.sharpness));
  return law;
}

double RunLaw::seconds(const MeasuredRun& run) const {
  return std::max(fit_.seconds(row_of(run, form_)), kLeastTime);
}

Result<RunForm> choose_form(std::span<const RunForm> forms, std::span<const RunSplit> splits) {
  ORRERY_CHECK(!forms.empty());
  RunForm best = forms.front();
  double least = std::numeric_limits<double>::infinity();
  for (const RunForm& form : forms) {
    double sum = 0;
    for (const RunSplit& split : splits) {
      if (split.asked.empty()) continue;
      ORRERY_TRY(const FormError error, error_of(form, split));
      sum += error.mean;
    }
    if (sum >= least) continue;
    least = sum;
    best = form;
  }
  return best;
}

Result<FormChoice> choose_forms(std::span<const std::vector<RunForm>> grid, std::span<const RunSplit> splits) {
  ORRERY_CHECK(!grid.empty());
  FormChoice choice;
  double least = std::numeric_limits<double>::infinity();
  for (const std::vector<RunForm>& row : grid) {
    ORRERY_CHECK(!row.empty());
    FormChoice of_row;
    std::vector<double> sums(row.size(), 0.0);
    double sum = 0;
    for (const RunSplit& split : splits) {
      ORRERY_CHECK(!split.asked.empty());
      std::vector<FormError> errors;
      for (std::size_t i = 0; i < row.size(); ++i) {
        ORRERY_TRY(errors.emplace_back(), error_of(row[i], split));
        sums[i] += errors[i].mean;
      }
      const std::size_t chosen = simplest_good(errors);
      sum += errors[chosen].mean;
      of_row.of_split.push_back(row[chosen]);
    }
    if (sum >= least) continue;
    least = sum;
    of_row.otherwise = row[static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin())];
    choice = std::move(of_row);
  }
  return choice;
}

}  // namespace orrery::lab
