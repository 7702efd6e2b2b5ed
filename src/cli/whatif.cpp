#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/explain.h"
#include "cli/prediction_table.h"
#include "cli/predictors.h"
#include "cli/runs.h"
#include "predict/scaling/goodput.h"
#include "workload/training_options.h"

namespace orrery::cli {

using predict::Prediction;

namespace {

// An option of the run, and the one that lists other values for it.
struct Question {
  const char* option;
  const char* others;
  const char* what;
};
constexpr Question kQuestions[] = {{"device", "to-device", "on {}"},
                                   {"count", "to-count", "{} devices"},
                                   {"per-machine", "to-per-machine", "{} devices per machine"},
                                   {"network", "to-network", "network {}"},
                                   {"batch", "to-batch", "batch {}"},
                                   {"precision", "to-precision", "{}"}};

std::vector<std::string> values_of(const OptionValues& options, const Question& question) {
  const std::string listed = options.display(question.others);
  return listed.empty() ? std::vector<std::string>() : split(listed, ',');
}

struct Row {
  std::string change;
  std::optional<RunPoint> point{};  // no value: it cannot be run, and `note` says why
  std::optional<Prediction> prediction{};
  std::string note{};
};

// The first run of the options. A job may leave device and number open: the first that it allows is changed.
Result<RunPoint> first_run(Context& context, const std::string& word, const OptionValues& options) {
  ORRERY_TRY(std::vector<RunPoint> points, expand_runs(context.env, {word}, options));
  if (points.empty()) return Error::infeasible(fmt::format("{} can run nowhere", word));
  return std::move(points.front());
}

void predict_row(const predict::Predictor& predictor, double samples, RunPoint point, Row& row) {
  point.run.steps = std::max(1.0, std::ceil(samples / static_cast<double>(point.run.global_batch())));
  auto prediction = predictor.predict(point.run, point.placement);
  if (!prediction) {
    row.note = "cannot run: " + prediction.error().to_string();
    return;
  }
  if (!prediction->fits) {
    row.note = fmt::format("does not fit: needs {}, has {}", format_bytes(prediction->memory.value),
                           format_bytes(prediction->device_memory));
  }
  row.point = std::move(point);
  row.prediction = std::move(*prediction);
}

Result<std::vector<Row>> all_rows(Context& context, const Arguments& arguments, const predict::Predictor& predictor) {
  const std::string& word = arguments.words[0];
  ORRERY_TRY(RunPoint base, first_run(context, word, arguments.options));
  // What the base runs on stays as it is in every row but the one that changes it.
  OptionValues pinned = arguments.options;
  ORRERY_TRY_VOID(pinned.set_values("device", {std::string(base.placement.device->name)}));
  ORRERY_TRY_VOID(pinned.set("count", std::to_string(base.placement.devices)));
  const double samples = base.run.steps * static_cast<double>(base.run.global_batch());

  std::vector<Row> rows = {{"as it is"}};
  predict_row(predictor, samples, std::move(base), rows[0]);
  if (!rows[0].prediction) return Error::infeasible(rows[0].note);
  for (const Question& question : kQuestions) {
    for (const std::string& value : values_of(arguments.options, question)) {
      Row& row = rows.emplace_back(Row{fmt::format(fmt::runtime(question.what), value)});
      OptionValues changed = pinned;
      ORRERY_TRY_VOID(changed.set_values(question.option, {value}));
      auto point = first_run(context, word, changed);
      if (point) {
        predict_row(predictor, samples, std::move(*point), row);
      } else {
        row.note = "cannot run: " + point.error().to_string();
      }
    }
  }
  return rows;
}

// The share of an iteration that its main bound takes.
double bound_share(const Prediction& prediction) {
  Seconds whole, most;
  for (const auto& [bound, time] : time_by_bound(prediction)) {
    whole = whole + time;
    most = std::max(most, time);
  }
  return whole > Seconds(0) ? most / whole : 0;
}

// Columns of a prediction that do not differ between rows, or say what the note does.
constexpr std::string_view kHidden[] = {"model", "precision", "device_memory_bytes", "fits"};

// What an example of each row is worth, one of the first row being 1. Nothing if the noise of gradients is not known.
Result<std::optional<predict::StatisticalEfficiency>> efficiency_of(const RunPoint& base, const OptionValues& options) {
  if (!options.has("noise-scale")) return std::nullopt;
  const auto batch = static_cast<double>(base.run.global_batch());
  ORRERY_TRY(const auto efficiency,
             predict::StatisticalEfficiency::make(
                 {.batch = batch, .squared_norm = 1, .variance = options.number("noise-scale") / batch}));
  return efficiency;
}

Table row_table(const std::vector<Row>& rows, const std::optional<predict::StatisticalEfficiency>& efficiency) {
  std::vector<Column> columns = {{"change", "change"}};
  for (Column& column : prediction_columns()) {
    column.shown = column.shown && std::find(std::begin(kHidden), std::end(kHidden), column.key) == std::end(kHidden);
    columns.push_back(std::move(column));
  }
  columns.insert(columns.end(), {{"bound_share", "bound's share", CellFormat::kPercent},
                                 {"speedup", "times faster", CellFormat::kNumber},
                                 {"efficiency", "efficiency", CellFormat::kPercent, efficiency.has_value()},
                                 {"goodput_speedup", "to the same loss", CellFormat::kNumber, efficiency.has_value()},
                                 {"note", "note"}});
  Table table(columns);
  const Seconds base = rows[0].prediction->total_time.value;
  for (const Row& row : rows) {
    std::vector<Cell> cells = {row.change};
    if (row.prediction) {
      for (Cell& cell : prediction_cells(*row.point, *row.prediction)) cells.push_back(std::move(cell));
      cells.push_back(bound_share(*row.prediction));
      const double speedup = base / row.prediction->total_time.value;
      cells.push_back(speedup);
      if (efficiency) {
        const double share = efficiency->at(static_cast<double>(row.point->run.global_batch()));
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
  const bool asks = std::any_of(std::begin(kQuestions), std::end(kQuestions),
                                [&](const Question& question) { return options.given(question.others); });
  if (!asks) return Error::invalid("nothing to change; give --to-device, --to-count, --to-batch or --to-network");
  ORRERY_TRY(const auto predictor, chosen_predictor(context.env, options));
  ORRERY_TRY(const std::vector<Row> rows, all_rows(context, arguments, *predictor));
  ORRERY_TRY(const auto efficiency, efficiency_of(*rows[0].point, options));
  ORRERY_TRY_VOID(context.print_table(row_table(rows, efficiency), options));
  if (!for_people(options)) return {};
  std::vector<Prediction> predictions;
  for (const Row& row : rows) {
    if (row.prediction) predictions.push_back(*row.prediction);
  }
  const RunPoint& base = *rows[0].point;
  context.print(fmt::format(
      "\none change at a time; every row trains the same {} samples; low and high: 80 % interval, {}\n",
      format_count(base.run.steps * static_cast<double>(base.run.global_batch())), calibration_text(predictions)));
  return {};
}

}  // namespace

Command whatif_command() {
  std::vector<OptionRecord> base = join(placement_options(), training_options());
  for (OptionRecord& record : base) record.is_list = false;
  OptionRecord precisions = workload::precision_option().list();
  precisions.name = "to-precision";
  precisions.default_value.clear();
  precisions.help = "precisions to try";
  return {"whatif",
          "MODEL",
          1,
          1,
          "show what one change would do: another device, another number of devices, another batch or network",
          join(join(std::move(base),
                    {text_option("to-device", "", "devices to try instead").in("NAME").list(),
                     optional_integer("to-count", "numbers of devices to try").bounds(1, 1 << 20).list(),
                     optional_integer("to-per-machine", "devices in one machine to try").bounds(1, 1024).list(),
                     text_option("to-network", "", "links between machines to try instead").in("LINK").list(),
                     optional_integer("to-batch", "samples per step on each replica to try").bounds(1, 1 << 24).list(),
                     std::move(precisions),
                     optional_number("noise-scale",
                                     "gradient noise scale in samples; it says how much larger batches are worth")
                         .bounds(0, 1e12),
                     predictor_option(), fact_option()}),
               table_options()),
          {"orrery whatif resnet50 --device V100 --batch 64 --to-device A100,H100 --to-count 2,4,8 --to-batch 128",
           "orrery whatif gpt2 --device A100 --count 16 --per-machine 4 --batch 4 --to-network 25G,200G --json",
           "orrery whatif resnet50 --device V100 --batch 64 --to-batch 256 --to-count 8 --noise-scale 2000",
           "orrery whatif job.yaml --to-device H100 --to-count 4"},
          run_whatif};
}

}  // namespace orrery::cli
