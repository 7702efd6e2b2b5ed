#include "simulate/speed_tables.h"

#include <cmath>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::simulate {

using schedule::Allocation;
using schedule::ClusterView;
using schedule::JobIndex;

namespace {

constexpr double kSpeedMax = 10;  // of running alone; measurements scatter above 1

}  // namespace

Result<CsvTable> read_measured_table(std::string_view csv, const std::string& file,
                                     const std::vector<std::string>& needed) {
  auto table = parse_csv(csv);
  if (!table) return std::move(table).error().with_context(file);
  const Columns columns(table->header);
  for (const std::string& column : needed) {
    if (columns.has(column)) continue;
    return Error::invalid(fmt::format("{}:1: no column {}{}; expected {}", file, quote(column),
                                      did_you_mean(column, columns.names()), fmt::join(needed, ", ")));
  }
  if (table->rows.size() > kTableRowsMax) {
    return Error::invalid(fmt::format("{}: more than {} rows", file, kTableRowsMax));
  }
  return table;
}

bool is_count(double value) {
  return value >= 1 && value <= 1 << 20 && value == std::floor(value);
}

namespace {

double speed_in(RowReader& row, std::string_view column) {
  const double speed = row.number(column);
  if (!(speed > 0 && speed <= kSpeedMax)) row.fail(column, "expected a speed above 0, of running alone");
  return speed;
}

}  // namespace

Result<InterferenceTable> InterferenceTable::parse(std::string_view csv, const std::string& file) {
  ORRERY_TRY(const CsvTable table, read_measured_table(csv, file, {"model1", "speed1", "model2", "speed2"}));
  const Columns columns(table.header);
  InterferenceTable result;
  for (const CsvRow& row : table.rows) {
    RowReader fields(columns, row.fields);
    const std::string first(fields.text("model1")), second(fields.text("model2"));
    const double speed1 = speed_in(fields, "speed1"), speed2 = speed_in(fields, "speed2");
    if (first.empty() || second.empty()) fields.fail("model1, model2", "missing");
    if (!fields.fault().empty()) return Error::invalid(fmt::format("{}:{}: {}", file, row.line, fields.fault()));
    const auto add = [&](const std::string& model, const std::string& other, double speed) {
      Mean& mean = result.speeds_[{model, other}];
      mean.sum += speed;
      ++mean.rows;
    };
    add(first, second, speed1);
    add(second, first, speed2);
  }
  return result;
}

std::optional<double> InterferenceTable::speed(std::string_view model, std::string_view other) const {
  const auto found = speeds_.find(std::pair(std::string(model), std::string(other)));
  if (found == speeds_.end()) return std::nullopt;
  return found->second.sum / found->second.rows;
}

Result<LocalityTable> LocalityTable::parse(std::string_view csv, const std::string& file) {
  ORRERY_TRY(const CsvTable table, read_measured_table(csv, file, {"model", "gpus", "machines", "speed"}));
  const Columns columns(table.header);
  LocalityTable result;
  for (const CsvRow& row : table.rows) {
    RowReader fields(columns, row.fields);
    const double gpus = fields.number("gpus"), machines = fields.number("machines");
    const double speed = speed_in(fields, "speed");
    if (!is_count(gpus)) fields.fail("gpus", "expected a whole number from 1 on");
    if (!is_count(machines)) fields.fail("machines", "expected a whole number from 1 on");
    if (!fields.fault().empty()) return Error::invalid(fmt::format("{}:{}: {}", file, row.line, fields.fault()));
    result.speeds_[{std::string(fields.text("model")), static_cast<int>(gpus), static_cast<int>(machines)}] = speed;
  }
  return result;
}

std::optional<double> LocalityTable::speed(std::string_view model, int gpus, int machines) const {
  for (const std::string_view name : {model, std::string_view()}) {
    const auto found = speeds_.find({std::string(name), gpus, machines});
    if (found != speeds_.end()) return found->second;
  }
  return std::nullopt;
}

double TableSpeed::rate(const ClusterView& view, JobIndex job, const Allocation& allocation) const {
  const auto measured = locality_.empty() ? std::nullopt
                                          : locality_.speed(model_of(job), schedule::gpus_in(allocation),
                                                            static_cast<int>(allocation.size()));
  if (!measured) return curve_.rate(view, job, allocation);
  // The curve for the number of GPUs, the table for where they are.
  return curve_.scaling(view, job, allocation) * *measured;
}

double TableSpeed::packed_share(const ClusterView& view, JobIndex job, JobIndex other) const {
  const auto measured = interference_.speed(model_of(job), model_of(other));
  return measured ? std::min(1.0, *measured) : curve_.packed_share(view, job, other);
}

}  // namespace orrery::simulate
