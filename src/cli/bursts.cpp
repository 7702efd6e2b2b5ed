#include "trace/bursts.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "cli/commands.h"
#include "env/files.h"

namespace orrery::cli {

namespace {

constexpr Bytes kSeriesMax = mebibytes(512);

Result<double> number_at(const std::string& path, const CsvRow& row, std::size_t column) {
  const auto number = parse_number(row.fields[column]);
  if (number) return *number;
  return Error::invalid(fmt::format("{}:{}: expected a number, got {}", path, row.line, quote(row.fields[column])));
}

// The samples between --from and --to, which count from the first sample.
Result<trace::ResourceSeries> read_series(Context& context, const std::string& path, const OptionValues& options) {
  ORRERY_TRY(const std::string text, context.env.files.read(path, kSeriesMax));
  auto table = parse_csv(text);
  if (!table) return std::move(table).error().with_context(path);
  ORRERY_TRY(const std::size_t time, table->column(options.text("time")));
  ORRERY_TRY(const std::size_t value, table->column(options.text("value")));
  trace::ResourceSeries series{options.text("value"), "", {}, {}};
  std::optional<double> zero;
  for (const CsvRow& row : table->rows) {
    ORRERY_TRY(const double t, number_at(path, row, time));
    ORRERY_TRY(const double v, number_at(path, row, value));
    if (!zero) zero = t;
    if (options.has("from") && t - *zero < options.number("from")) continue;
    if (options.has("to") && t - *zero > options.number("to")) continue;
    series.times.emplace_back(t - *zero);
    series.values.push_back(v);
  }
  return series;
}

Status run_bursts(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string& path = arguments.words[0];
  ORRERY_TRY(const trace::ResourceSeries series, read_series(context, path, options));
  trace::BurstOptions how;
  how.trim = !options.flag("whole");
  how.remove_repeats = options.flag("remove-repeats");
  how.full_scale = options.number("full-scale");
  if (options.has("iteration")) how.iteration = Seconds(options.number("iteration"));
  const auto found = trace::find_bursts(series, how);
  if (!found) return Error(found.error()).with_context(path);
  Table table({{"pattern", "pattern"},
               {"idle_centre", "idle level", CellFormat::kNumber},
               {"burst_centre", "burst level", CellFormat::kNumber},
               {"idle_largest", "idle up to", CellFormat::kNumber},
               {"burst_smallest", "burst from", CellFormat::kNumber},
               {"burst_s", "mean burst", CellFormat::kSeconds},
               {"idle_s", "mean idle", CellFormat::kSeconds},
               {"cycle_s", "cycle", CellFormat::kSeconds},
               {"cycles_per_iteration", "cycles per iteration", CellFormat::kNumber, options.has("iteration")},
               {"bursts", "bursts", CellFormat::kInteger},
               {"idles", "idles", CellFormat::kInteger, false},
               {"resolution_s", "resolution", CellFormat::kSeconds},
               {"samples", "samples", CellFormat::kInteger},
               {"from_s", "from", CellFormat::kSeconds, false},
               {"to_s", "to", CellFormat::kSeconds, false}});
  const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  table.add({std::string(to_string(found->pattern)), found->idle_centre, found->burst_centre, found->idle_largest,
             found->burst_smallest, found->burst_duration.value(), found->idle_duration.value(), found->cycle.value(),
             found->cycles_per_iteration ? Cell(*found->cycles_per_iteration) : Cell(), whole(found->bursts),
             whole(found->idles), found->resolution.value(), whole(found->samples), series.times[found->first].value(),
             series.times[found->last].value()});
  ORRERY_TRY_VOID(context.print_table(table, options));
  if (for_people(options)) {
    context.print(fmt::format("\nlooked at {} of {} samples, {} to {} after the first\n",
                              found->last - found->first + 1, series.values.size(),
                              format_seconds(series.times[found->first]), format_seconds(series.times[found->last])));
  }
  return {};
}

}  // namespace

Command bursts_command() {
  return {"bursts",
          "FILE.csv",
          1,
          1,
          "find the bursts and idle times in a series of samples",
          join({text_option("time", "time", "column with the times in seconds").in("COLUMN"),
                text_option("value", "value", "column with the samples").in("COLUMN"),
                optional_number("from", "leave out earlier samples; counted from the first sample").in("S"),
                optional_number("to", "leave out later samples").in("S"),
                flag_option("whole", "do not trim the start-up and the quiet ends"),
                flag_option("remove-repeats", "keep one reading for each refresh of the counter"),
                number_option("full-scale", 100, "largest value that the resource can have").bounds(1e-9, 1e15),
                optional_number("iteration", "iteration time to compare the cycle with").in("S").bounds(1e-9, 1e9)},
               table_options()),
          {"orrery bursts gpu.csv --time Time --value Utilization",
           "orrery bursts gpu.csv --from 60 --to 120 --iteration 0.54 --json"},
          run_bursts};
}

}  // namespace orrery::cli
