#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "env/files.h"

namespace orrery::cli {

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

Result<nlohmann::json> read_run(Context& context, const std::string& path) {
  ORRERY_TRY(const std::string text, context.env.files.read(path, kRunBytesMax));
  auto json = nlohmann::json::parse(text, nullptr, false);
  const auto is_row = [](const nlohmann::json& row) {
    return row.is_object() && row.contains("policy") && row["policy"].is_string() && row.contains("mean_s") &&
           row["mean_s"].is_number();
  };
  const bool sound = json.is_array() && !json.empty() && std::all_of(json.begin(), json.end(), is_row);
  if (!sound) return Error::invalid(fmt::format("{}: not what orrery simulate --json prints", path));
  return json;
}

Status run_compare(Context& context, const Arguments& arguments) {
  std::vector<Column> columns = {{"run", "run"}, {"policy", "policy"}};
  for (const Measure& measure : kMeasures) columns.push_back({measure.key, measure.title, measure.format});
  columns.push_back({"mean_ratio", "mean, of the first", CellFormat::kNumber});
  Table table(std::move(columns));
  double first = 0;
  for (const std::string& path : arguments.words) {
    ORRERY_TRY(const nlohmann::json run, read_run(context, path));
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
  return context.print_table(table, arguments.options);
}

}  // namespace

Command simulate_compare_command() {
  return {"simulate compare",
          "RUN…",
          1,
          1000,
          "compare runs that `orrery simulate --json` wrote",
          table_options(),
          {"orrery simulate compare monday.json tuesday.json"},
          run_compare};
}

}  // namespace orrery::cli
