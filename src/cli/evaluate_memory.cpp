#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/data_folder.h"
#include "env/files.h"
#include "env/terminal.h"
#include "predict/evaluate/memory.h"

namespace orrery::cli {

using predict::ErrorSummary;
using predict::MemoryEvaluation;

namespace {

constexpr Bytes kDataMax = gibibytes(1);

std::vector<Cell> summary_row(const std::string& name, const ErrorSummary& summary, std::size_t cases, Cell coverage) {
  return {name,
          static_cast<std::int64_t>(cases),
          summary.mean_error,
          summary.median_error,
          summary.p90_error,
          summary.under_estimates,
          std::move(coverage)};
}

Table case_table(const MemoryEvaluation& evaluation) {
  Table table({{"model", "model"},
               {"batch", "batch", CellFormat::kInteger},
               {"measured_mib", "measured MiB", CellFormat::kInteger},
               {"predicted_mib", "predicted MiB", CellFormat::kInteger},
               {"error", "error", CellFormat::kPercent},
               {"faketensor_mib", "FakeTensor MiB", CellFormat::kInteger}});
  for (const predict::MemoryCase& c : evaluation.cases) {
    table.add({c.model, c.batch, c.measured_mib, c.predicted_mib, (c.predicted_mib - c.measured_mib) / c.measured_mib,
               c.rival_mib});
  }
  return table;
}

Status run_evaluate_memory(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string folder =
      options.text("test").empty() ? data_folder(context) + "/driple/timm_memory" : options.text("test");
  const std::string path = folder + "/timm_measured_vs_faketensor.csv";
  auto csv = context.env.files.read(path, kDataMax);
  if (!csv) {
    return std::move(csv).error().with_context(
        "the measurements (set ORRERY_DATA to the folder that holds data/, or give --test DIR)");
  }
  auto evaluation = predict::evaluate_memory(*csv);
  if (!evaluation) return std::move(evaluation).error().with_context(path);

  if (options.flag("cases")) return context.print_table(case_table(*evaluation), options);
  Table table({{"estimate", "estimate"},
               {"cases", "cases", CellFormat::kInteger},
               {"mre", "mean error", CellFormat::kPercent},
               {"median", "median", CellFormat::kPercent},
               {"p90", "90th percentile", CellFormat::kPercent},
               {"under_estimates", "under-estimates", CellFormat::kPercent},
               {"coverage80", "inside 80 % interval", CellFormat::kPercent}});
  const std::size_t cases = evaluation->cases.size();
  table.add(summary_row("orrery analytic", evaluation->ours, cases, evaluation->coverage));
  table.add(summary_row("FakeTensor", evaluation->rival, cases, std::monostate()));
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options)) {
    context.print(
        fmt::format("\n{} models of the zoo, {} runs; left out: {} runs that ran out of memory, {} models the "
                    "zoo does not have\n",
                    evaluation->models, cases, evaluation->failed_runs, evaluation->models_not_covered));
  }
  return {};
}

}  // namespace

Command evaluate_memory_command() {
  return {
      "evaluate memory",
      "",
      0,
      0,
      "score predicted memory against measured peaks",
      join({text_option("test", "", "folder with the measurements").in("DIR"), flag_option("cases", "list every case")},
           table_options()),
      {"orrery evaluate memory", "orrery evaluate memory --cases --csv"},
      run_evaluate_memory};
}

}  // namespace orrery::cli
