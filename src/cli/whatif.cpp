#include "service/whatif.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "service/explain.h"
#include "service/prediction_table.h"

namespace orrery::cli {

using predict::Prediction;
using service::WhatifAnswer;
using service::WhatifRow;

namespace {

// The share of an iteration that its main bound takes.
double bound_share(const Prediction& prediction) {
  Seconds whole, most;
  for (const auto& [bound, time] : service::time_by_bound(prediction)) {
    whole = whole + time;
    most = std::max(most, time);
  }
  return whole > Seconds(0) ? most / whole : 0;
}

// Columns of a prediction that do not differ between rows, or say what the note does.
constexpr std::string_view kHidden[] = {"model", "precision", "device_memory_bytes", "fits"};

Table row_table(const WhatifAnswer& answer) {
  const auto& efficiency = answer.efficiency;
  std::vector<Column> columns = {{"change", "change"}};
  for (Column& column : service::prediction_columns()) {
    column.shown = column.shown && std::find(std::begin(kHidden), std::end(kHidden), column.key) == std::end(kHidden);
    columns.push_back(std::move(column));
  }
  columns.insert(columns.end(), {{"bound_share", "bound's share", CellFormat::kPercent},
                                 {"speedup", "times faster", CellFormat::kNumber},
                                 {"efficiency", "efficiency", CellFormat::kPercent, efficiency.has_value()},
                                 {"goodput_speedup", "to the same loss", CellFormat::kNumber, efficiency.has_value()},
                                 {"note", "note"}});
  Table table(columns);
  const Seconds base = answer.rows[0].run->prediction.total_time.value;
  for (const WhatifRow& row : answer.rows) {
    std::vector<Cell> cells = {row.change};
    if (row.run) {
      for (Cell& cell : service::prediction_cells(*row.run)) cells.push_back(std::move(cell));
      cells.push_back(bound_share(row.run->prediction));
      const double speedup = base / row.run->prediction.total_time.value;
      cells.push_back(speedup);
      if (efficiency) {
        const double share = efficiency->at(static_cast<double>(row.run->point.run.global_batch()));
        cells.push_back(share);
        cells.push_back(speedup * share);
      }
    }
    cells.resize(columns.size() - 1);
    cells.push_back(row.note.empty() ? Cell() : Cell(row.note));
    table.add(std::move(cells));
  }
  return table;
}

Status run_whatif(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::WhatifRequest request, service::whatif_fields().read(options));
  ORRERY_TRY(const WhatifAnswer answer, service::whatif(context.env, request));
  ORRERY_TRY_VOID(context.print_table(row_table(answer), options));
  if (!for_people(options)) return {};
  std::vector<service::PredictedRun> runs;
  for (const WhatifRow& row : answer.rows) {
    if (row.run) runs.push_back(*row.run);
  }
  context.print(
      fmt::format("\none change at a time; every row trains the same {} samples; low and high: 80 % interval, {}\n",
                  format_count(answer.samples), service::calibration_text(runs)));
  return {};
}

}  // namespace

Command whatif_command() {
  return {"whatif",
          "show what one change would do: another device, another number of devices, another batch or network",
          join(service::whatif_fields().records(), table_options()),
          {"orrery whatif resnet50 --device V100 --batch 64 --to-device A100,H100 --to-count 2,4,8 --to-batch 128",
           "orrery whatif gpt2 --gpus A100:16 --gpus-per-node 4 --batch-per-gpu 4 --to-network 25G,200G --json",
           "orrery whatif resnet50 --device V100 --batch-per-gpu 64 --to-batch 256 --to-count 8 --noise-scale 2000",
           "orrery whatif job.yaml --to-device H100 --to-count 4"},
          run_whatif};
}

}  // namespace orrery::cli
