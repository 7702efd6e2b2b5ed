#pragma once
// Traces as comma-separated values with a header: one record per form.

#include <functional>
#include <span>

#include "simulate/readers/columns.h"
#include "simulate/readers/job_sink.h"
#include "simulate/readers/speed_table.h"

namespace orrery::simulate {

// The table of steps per second as a reader sees it, and what it had to predict for this row.
struct SpeedLookup {
  const SpeedTable& table;
  bool predict = false;
  std::string* predicted = nullptr;  // what was missing, if anything was
};

struct CsvForm {
  std::string name;
  std::string summary;
  std::vector<std::string> columns;  // by which it is recognised
  // Fills `job`; false: the row is no job for us. An error is left in the row.
  std::function<bool(RowReader& row, const SpeedLookup& speeds, RawJob& job)> read;
};

// In the order in which they are tried: forms with more columns first.
std::span<const CsvForm> csv_forms();

}  // namespace orrery::simulate
