#include "predict/scaling/run_law.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "base/check.h"

namespace orrery::predict {

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
      ORRERY_TRY(const RunLaw law, RunLaw::fit(split.known, split.weights, form));
      for (const MeasuredRun& run : split.asked) {
        sum += std::abs(std::log(law.seconds(run) / run.seconds)) / static_cast<double>(split.asked.size());
      }
    }
    if (sum >= least) continue;
    least = sum;
    best = form;
  }
  return best;
}

}  // namespace orrery::predict
