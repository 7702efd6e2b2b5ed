#include "service/bursts.h"

#include <fmt/format.h>

#include "base/csv.h"
#include "base/text.h"
#include "env/files.h"

namespace orrery::service {

const Fields<BurstsRequest>& bursts_fields() {
  using B = BurstsRequest;
  static const auto kFields =
      Fields<B>()
          .add(&B::file, text_option("file", "", "series of samples (CSV)").in("FILE.csv").required().word())
          .add(&B::time, text_option("time", "time", "column with the times in seconds").in("COLUMN"))
          .add(&B::value, text_option("value", "value", "column with the samples").in("COLUMN"))
          .add(&B::from, optional_number("from", "leave out earlier samples; counted from the first sample").in("S"))
          .add(&B::to, optional_number("to", "leave out later samples").in("S"))
          .add(&B::whole, flag_option("whole", "do not trim the start-up and the quiet ends"))
          .add(&B::remove_repeats, flag_option("remove-repeats", "keep one reading for each refresh of the counter"))
          .add(&B::full_scale,
               number_option("full-scale", 100, "largest value that the resource can have").bounds(1e-9, 1e15))
          .add(&B::iteration,
               optional_number("iteration", "iteration time to compare the cycle with").in("S").bounds(1e-9, 1e9));
  return kFields;
}

namespace {

constexpr Bytes kSeriesMax = mebibytes(512);

Result<double> number_at(const std::string& path, const CsvRow& row, std::size_t column) {
  const auto number = parse_number(row.fields[column]);
  if (number) return *number;
  return Error::invalid(fmt::format("{}:{}: expected a number, got {}", path, row.line, quote(row.fields[column])));
}

// The samples between --from and --to, which count from the first sample.
Result<trace::ResourceSeries> read_series(env::Env env, const BurstsRequest& request) {
  const std::string& path = request.file;
  ORRERY_TRY(const std::string text, env.files.read(path, kSeriesMax));
  auto table = parse_csv(text);
  if (!table) return std::move(table).error().with_context(path);
  ORRERY_TRY(const std::size_t time, table->column(request.time));
  ORRERY_TRY(const std::size_t value, table->column(request.value));
  trace::ResourceSeries series{request.value, "", {}, {}};
  std::optional<double> zero;
  for (const CsvRow& row : table->rows) {
    ORRERY_TRY(const double t, number_at(path, row, time));
    ORRERY_TRY(const double v, number_at(path, row, value));
    if (!zero) zero = t;
    if (request.from && t - *zero < *request.from) continue;
    if (request.to && t - *zero > *request.to) continue;
    series.times.emplace_back(t - *zero);
    series.values.push_back(v);
  }
  return series;
}

}  // namespace

Result<BurstsAnswer> find_bursts(env::Env env, const BurstsRequest& request) {
  ORRERY_TRY(trace::ResourceSeries series, read_series(env, request));
  trace::BurstOptions how;
  how.trim = !request.whole;
  how.remove_repeats = request.remove_repeats;
  how.full_scale = request.full_scale;
  if (request.iteration) how.iteration = Seconds(*request.iteration);
  auto found = trace::find_bursts(series, how);
  if (!found) return std::move(found).error().with_context(request.file);
  return BurstsAnswer{std::move(series), *found, request.iteration.has_value()};
}

Table bursts_table(const BurstsAnswer& answer) {
  const trace::Bursts& found = answer.bursts;
  Table table({{"pattern", "pattern"},
               {"idle_centre", "idle level", CellFormat::kNumber},
               {"burst_centre", "burst level", CellFormat::kNumber},
               {"idle_largest", "idle up to", CellFormat::kNumber},
               {"burst_smallest", "burst from", CellFormat::kNumber},
               {"burst_s", "mean burst", CellFormat::kSeconds},
               {"idle_s", "mean idle", CellFormat::kSeconds},
               {"cycle_s", "cycle", CellFormat::kSeconds},
               {"cycles_per_iteration", "cycles per iteration", CellFormat::kNumber, answer.has_iteration},
               {"bursts", "bursts", CellFormat::kInteger},
               {"idles", "idles", CellFormat::kInteger, false},
               {"resolution_s", "resolution", CellFormat::kSeconds},
               {"samples", "samples", CellFormat::kInteger},
               {"from_s", "from", CellFormat::kSeconds, false},
               {"to_s", "to", CellFormat::kSeconds, false}});
  const auto whole = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  table.add({std::string(to_string(found.pattern)), found.idle_centre, found.burst_centre, found.idle_largest,
             found.burst_smallest, found.burst_duration.value(), found.idle_duration.value(), found.cycle.value(),
             found.cycles_per_iteration ? Cell(*found.cycles_per_iteration) : Cell(), whole(found.bursts),
             whole(found.idles), found.resolution.value(), whole(found.samples),
             answer.series.times[found.first].value(), answer.series.times[found.last].value()});
  return table;
}

std::string bursts_text(const BurstsAnswer& answer) {
  const std::size_t first = answer.bursts.first, last = answer.bursts.last;
  return fmt::format("\nlooked at {} of {} samples, {} to {} after the first\n", last - first + 1,
                     answer.series.values.size(), format_seconds(answer.series.times[first]),
                     format_seconds(answer.series.times[last]));
}

}  // namespace orrery::service
