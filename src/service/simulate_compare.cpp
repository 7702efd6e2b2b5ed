#include "service/simulate_compare.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "env/files.h"

namespace orrery::service {

const Fields<CompareRunsRequest>& compare_runs_fields() {
  static const auto kFields = Fields<CompareRunsRequest>().add(
      &CompareRunsRequest::runs,
      text_option("run", "", "runs that `orrery simulate --json` wrote").in("RUN").required().list(1000).word());
  return kFields;
}

namespace {

constexpr Bytes kRunBytesMax = mebibytes(64);

struct Measure {
  const char* key;
  const char* title;
  CellFormat format;
};
constexpr Measure kMeasures[] = {
    {"mean_s", "mean", CellFormat::kSeconds},           {"p99_s", "p99", CellFormat::kSeconds},
    {"queueing_s", "queueing", CellFormat::kSeconds},   {"makespan_s", "makespan", CellFormat::kSeconds},
    {"utilisation", "GPUs used", CellFormat::kPercent}, {"slowdown", "slowdown", CellFormat::kNumber},
    {"restarts", "restarts", CellFormat::kNumber}};

Result<nlohmann::json> read_run(env::Env env, const std::string& path) {
  ORRERY_TRY(const std::string text, env.files.read(path, kRunBytesMax));
  auto json = nlohmann::json::parse(text, nullptr, false);
  const auto is_row = [](const nlohmann::json& row) {
    return row.is_object() && row.contains("policy") && row["policy"].is_string() && row.contains("mean_s") &&
           row["mean_s"].is_number();
  };
  const bool sound = json.is_array() && !json.empty() && std::all_of(json.begin(), json.end(), is_row);
  if (!sound) return Error::invalid(fmt::format("{}: not what orrery simulate --json prints", path));
  return json;
}

}  // namespace

Result<Table> compare_runs(env::Env env, const CompareRunsRequest& request) {
  std::vector<Column> columns = {{"run", "run"}, {"policy", "policy"}};
  for (const Measure& measure : kMeasures) columns.push_back({measure.key, measure.title, measure.format});
  columns.push_back({"mean_ratio", "mean, of the first", CellFormat::kNumber});
  Table table(std::move(columns));
  double first = 0;
  for (const std::string& path : request.runs) {
    ORRERY_TRY(const nlohmann::json run, read_run(env, path));
    for (const nlohmann::json& row : run) {
      const std::string policy = row["policy"].get<std::string>();
      std::vector<Cell> cells;
      cells.emplace_back(path);
      cells.emplace_back(is_printable(policy) ? policy : quote(policy));
      for (const Measure& measure : kMeasures) {
        const bool there = row.contains(measure.key) && row[measure.key].is_number();
        cells.push_back(there ? Cell(row[measure.key].get<double>()) : Cell());
      }
      const double mean = row["mean_s"].get<double>();
      if (table.rows() == 0) first = mean;
      cells.push_back(first > 0 ? Cell(mean / first) : Cell());
      table.add(std::move(cells));
    }
  }
  return table;
}

}  // namespace orrery::service
