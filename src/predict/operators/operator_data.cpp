#include "predict/operators/operator_data.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery::predict {

namespace {

bool is_product(OperatorClass operator_class) {
  return operator_class == OperatorClass::kBatchedProduct || operator_class == OperatorClass::kLinear;
}

Result<OperatorShape> shape_of(const CsvTable& table, const CsvRow& row, OperatorClass operator_class) {
  OperatorShape shape;
  ORRERY_TRY(shape.b, positive_field(table, row, "B"));
  if (!is_product(operator_class)) {
    ORRERY_TRY(shape.m, positive_field(table, row, "H"));
    return shape;
  }
  ORRERY_TRY(shape.m, positive_field(table, row, "M"));
  ORRERY_TRY(shape.n, positive_field(table, row, "N"));
  ORRERY_TRY(shape.k, positive_field(table, row, "K"));
  return shape;
}

// The grid and block of the kernel, if the file has them.
void read_launch(const CsvTable& table, const CsvRow& row, OperatorMeasurement& measurement) {
  double blocks = 1;
  for (const std::string_view column : {"gridx", "gridy", "gridz"}) {
    blocks *= positive_field(table, row, column).value_or(0);
  }
  measurement.blocks = blocks;
  measurement.threads = positive_field(table, row, "block").value_or(0);
}

// The first of the columns that has a number.
Result<double> first_number(const CsvTable& table, const CsvRow& row, std::initializer_list<std::string_view> columns) {
  for (const std::string_view column : columns) {
    const auto number = positive_field(table, row, column);
    if (number) return *number;
  }
  return Error::invalid(
      fmt::format("line {}: none of the columns {} has a number", row.line, fmt::join(columns, ", ")));
}

}  // namespace

Result<double> positive_field(const CsvTable& table, const CsvRow& row, std::string_view column) {
  ORRERY_TRY(const std::size_t place, table.column(column));
  const std::optional<double> number = parse_number(row.fields[place]);
  if (!number || !(*number > 0)) {
    return Error::invalid(
        fmt::format("line {}: {}: expected a number above 0, got {}", row.line, column, quote(row.fields[place])));
  }
  return *number;
}

std::string operator_file(OperatorClass operator_class) {
  const std::string_view name =
      operator_class == OperatorClass::kLayerNorm ? std::string_view("ln") : to_string(operator_class);
  return fmt::format("ops/{}.csv.gz", name);
}

Result<std::vector<OperatorMeasurement>> parse_operators(std::string_view csv, OperatorClass operator_class) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  ORRERY_TRY(const std::size_t device, table.column("Device"));
  ORRERY_TRY(const std::size_t name, table.column("OPName"));
  ORRERY_TRY(const std::size_t source, table.column("source"));
  const bool has_launch = table.column("gridx").has_value();
  std::vector<OperatorMeasurement> measurements;
  measurements.reserve(table.rows.size());
  for (const CsvRow& row : table.rows) {
    OperatorMeasurement measurement;
    measurement.device = row.fields[device];
    ORRERY_TRY(measurement.shape, shape_of(table, row, operator_class));
    measurement.shape.name = row.fields[name];
    ORRERY_TRY(measurement.latency_ms, positive_field(table, row, "latency_ms"));
    measurement.is_random_sweep = row.fields[source] == "train";
    if (has_launch) read_launch(table, row, measurement);
    measurements.push_back(std::move(measurement));
  }
  return measurements;
}

Result<std::vector<ListedDevice>> parse_devices(std::string_view csv) {
  ORRERY_TRY(const CsvTable table, parse_csv(csv));
  ORRERY_TRY(const std::size_t name, table.column("Device"));
  ORRERY_TRY(const std::size_t file, table.column("file"));
  std::vector<ListedDevice> devices;
  for (const CsvRow& row : table.rows) {
    DeviceFacts facts{.name = row.fields[name]};
    const auto same = std::find_if(devices.begin(), devices.end(),
                                   [&](const ListedDevice& other) { return other.facts.name == facts.name; });
    if (same != devices.end()) {
      same->files.push_back(row.fields[file]);
      continue;
    }
    ORRERY_TRY(const double gigaflops, first_number(table, row, {"SingleFLOPs", "SingleFLOPsMM"}));
    ORRERY_TRY(const double gigabytes, positive_field(table, row, "Mem_Bw"));
    ORRERY_TRY(const double megabytes, positive_field(table, row, "L2Cache"));
    ORRERY_TRY(facts.sms, positive_field(table, row, "Num_Sm"));
    facts.peak = gigaflops * 1e9;
    facts.bandwidth = gigabytes * 1e9;
    facts.l2_bytes = megabytes * 1e6;
    devices.push_back({with_limits(std::move(facts)), {row.fields[file]}});
  }
  return devices;
}

}  // namespace orrery::predict
