#include "lab/evaluate/memory_suite.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>

#include "base/csv.h"
#include "predict/analytic/analytic.h"
#include "workload/zoo/zoo.h"

namespace orrery::lab {

namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr std::string_view kFile = "timm_measured_vs_faketensor.csv";
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kFailedBelow = 0.75;
constexpr double kLargestNumber = 1e12;  // no batch or memory is larger

struct Row {
  std::int64_t batch = 0;
  double measured = 0;
  double baseline = 0;
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
    ORRERY_TRY(read.baseline, number_in(table, row, "faketensor_peak_mib"));
    by_model[row.fields[model]].push_back(read);
  }
  for (auto& [name, rows] : by_model) {
    std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.batch < b.batch; });
  }
  return by_model;
}

// Of one model. More samples take more memory: a peak that is the same for twice the batch, on a device that is not
// full, is what was there when both runs ended early.
bool is_flat(const std::vector<Row>& rows, std::size_t at, double capacity_mib) {
  constexpr double kSame = 0.01, kFull = 0.95;
  if (rows[at].measured >= kFull * capacity_mib) return false;
  return std::any_of(rows.begin(), rows.end(), [&](const Row& other) {
    const bool is_far = std::max(other.batch, rows[at].batch) >= 2 * std::min(other.batch, rows[at].batch);
    return is_far && std::abs(other.measured / rows[at].measured - 1) < kSame;
  });
}

double share_below_measured(const std::vector<Case>& cases) {
  const auto below =
      std::count_if(cases.begin(), cases.end(), [](const Case& one) { return one.predicted < one.measured; });
  return static_cast<double>(below) / static_cast<double>(cases.size());
}

}  // namespace

Result<SuiteReport> score_memory(std::string_view csv) {
  ORRERY_TRY(const auto by_model, read_rows(csv));
  ORRERY_TRY(const hardware::Placement placement, hardware::make_placement("A100", 1, 1));
  const double capacity_mib = placement.device->memory.value() / kMebibyte;
  const AnalyticPredictor predictor;
  std::vector<Case> ours, baselines;
  std::size_t models = 0, models_not_covered = 0, failed_runs = 0;
  for (const auto& [model, rows] : by_model) {
    const auto graph = workload::build_model("timm/" + model);
    if (!graph) {
      if (graph.error().code() != ErrorCode::kNotFound) return graph.error();
      ++models_not_covered;
      continue;
    }
    ++models;
    double most_so_far = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Row& row = rows[i];
      if (row.measured < kFailedBelow * most_so_far || is_flat(rows, i, capacity_mib)) {
        ++failed_runs;
        continue;
      }
      most_so_far = std::max(most_so_far, row.measured);
      ORRERY_TRY(workload::TrainingGraph batched, graph->with_batch(row.batch));
      const workload::TrainingRun run{std::move(batched)};
      ORRERY_TRY(const Prediction prediction, predictor.predict(run, placement));
      const auto shown = [&](Bytes bytes) { return std::min(bytes.value() / kMebibyte, capacity_mib); };
      ours.push_back({"memory", row.measured, shown(prediction.memory.value), shown(prediction.memory.low),
                      shown(prediction.memory.high)});
      baselines.push_back({"FakeTensor", row.measured, row.baseline, kNan, kNan});
    }
  }
  if (ours.empty()) return Error::invalid("no row belongs to a model of the zoo");
  SuiteReport report{.suite = "memory"};
  for (const std::vector<Case>* cases : {&ours, &baselines}) {
    report.add(*cases, 0);
    report.rows.back().more = {{"under_estimates", share_below_measured(*cases)}};
  }
  report.notes.push_back(
      fmt::format("{} models of the zoo, {} runs; left out: {} runs that ended early, {} models the zoo does not have",
                  models, ours.size(), failed_runs, models_not_covered));
  return report;
}

Result<SuiteReport> run_memory_suite(const SuiteInput& input) {
  const double begin = input.now_s();
  const std::string folder = input.test.empty() ? training_folder(input, "driple/timm_memory") : input.test;
  ORRERY_TRY(const std::string csv, read_data(input.files, folder, std::string(kFile)));
  auto report = score_memory(csv);
  if (!report) return std::move(report).error().with_context(fmt::format("{}/{}", folder, kFile));
  report->seed = input.seed;
  for (ReportRow& row : report->rows) row.score.seconds = input.now_s() - begin;
  return report;
}

}  // namespace orrery::lab
