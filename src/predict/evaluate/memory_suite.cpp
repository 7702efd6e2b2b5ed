#include "predict/evaluate/memory.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <map>

#include "base/csv.h"
#include "base/statistics.h"
#include "predict/analytic/analytic.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kFailedBelow = 0.75;
constexpr double kLargestNumber = 1e12;  // no batch or memory is larger

struct Row {
  std::int64_t batch = 0;
  double measured = 0;
  double rival = 0;
};

Result<double> number_in(const CsvTable& table, const CsvRow& row, std::string_view column) {
  ORRERY_TRY(const std::size_t place, table.column(column));
  const std::string& text = row.fields[place];
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size() || !(number > 0) || number > kLargestNumber) {
    return Error::invalid(fmt::format("line {}: {}: expected a number above 0 and up to {}, got \"{}\"", row.line,
                                      column, kLargestNumber, text));
  }
  return number;
}

Result<std::map<std::string, std::vector<Row>>> read_rows(std::string_view csv) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  ORRERY_TRY(const std::size_t model, table.column("model"));
  std::map<std::string, std::vector<Row>> by_model;
  for (const CsvRow& row : table.rows) {
    Row read;
    ORRERY_TRY(const double batch, number_in(table, row, "batch_size"));
    read.batch = static_cast<std::int64_t>(batch);
    ORRERY_TRY(read.measured, number_in(table, row, "max_gpu_memory_mib"));
    ORRERY_TRY(read.rival, number_in(table, row, "faketensor_peak_mib"));
    by_model[row.fields[model]].push_back(read);
  }
  for (auto& [name, rows] : by_model) {
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.batch < b.batch; });
  }
  return by_model;
}

ErrorSummary summarize(const std::vector<MemoryCase>& cases, double MemoryCase::*estimate) {
  ErrorSummary summary;
  if (cases.empty()) return summary;
  std::vector<double> errors;
  for (const MemoryCase& c : cases) {
    errors.push_back(std::abs(c.*estimate - c.measured_mib) / c.measured_mib);
    summary.mean_error += errors.back();
    summary.under_estimates += c.*estimate < c.measured_mib ? 1 : 0;
  }
  const auto count = static_cast<double>(cases.size());
  summary.mean_error /= count;
  summary.under_estimates /= count;
  summary.median_error = median(errors);
  summary.p90_error = quantile(errors, 0.9);
  return summary;
}

}  // namespace

Result<MemoryEvaluation> evaluate_memory(std::string_view csv) {
  ORRERY_TRY(const auto by_model, read_rows(csv));
  ORRERY_TRY(const hardware::Placement placement, hardware::make_placement("A100", 1, 1));
  const double capacity_mib = placement.device->memory.value() / kMebibyte;
  const AnalyticPredictor predictor;
  MemoryEvaluation evaluation;
  for (const auto& [model, rows] : by_model) {
    const auto graph = workload::build_model("timm/" + model);
    if (!graph) {
      if (graph.error().code() != ErrorCode::kNotFound) return graph.error();
      ++evaluation.models_not_covered;
      continue;
    }
    ++evaluation.models;
    double most_so_far = 0;
    for (const Row& row : rows) {
      if (row.measured < kFailedBelow * most_so_far) {
        ++evaluation.failed_runs;
        continue;
      }
      most_so_far = std::max(most_so_far, row.measured);
      ORRERY_TRY(workload::TrainingGraph batched, graph->with_batch(row.batch));
      const workload::TrainingRun run{std::move(batched)};
      ORRERY_TRY(const Prediction prediction, predictor.predict(run, placement));
      const auto shown = [&](Bytes bytes) { return std::min(bytes.value() / kMebibyte, capacity_mib); };
      evaluation.cases.push_back({model, row.batch, row.measured, shown(prediction.memory.value),
                                  shown(prediction.memory.low), shown(prediction.memory.high), row.rival});
    }
  }
  if (evaluation.cases.empty()) return Error::invalid("no row belongs to a model of the zoo");
  evaluation.ours = summarize(evaluation.cases, &MemoryCase::predicted_mib);
  evaluation.rival = summarize(evaluation.cases, &MemoryCase::rival_mib);
  for (const MemoryCase& c : evaluation.cases) {
    evaluation.coverage += c.low_mib <= c.measured_mib && c.measured_mib <= c.high_mib ? 1 : 0;
  }
  evaluation.coverage /= static_cast<double>(evaluation.cases.size());
  return evaluation;
}

}  // namespace orrery::predict
