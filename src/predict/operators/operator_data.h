#pragma once
// Reads folders of measured operators: ops/bmm.csv.gz and so on, and devices.csv with data-sheet values.
//
// ops/*.csv(.gz): OPName, Device, sizes (B, M, N, K of products with N the side summed over; B, H of the others),
// latency_ms, source ("train": a sweep of random sizes; "test": sizes of real models), and gridx, gridy, gridz, block
// of the kernel where known.

#include <string>
#include <string_view>
#include <vector>

#include "base/csv.h"
#include "env/files.h"
#include "predict/operators/operator_rows.h"

namespace orrery::predict {

struct OperatorMeasurement {
  std::string device;
  OperatorShape shape;
  double latency_ms = 0;
  bool is_random_sweep = true;
  double blocks = 0, threads = 0;  // of the kernel's grid and of one block; 0: not known
};

Result<std::vector<OperatorMeasurement>> parse_operators(std::string_view csv, OperatorClass operator_class);
// "ops/bmm.csv.gz".
std::string operator_file(OperatorClass operator_class);

struct ListedDevice {
  DeviceFacts facts;
  std::vector<std::string> files;  // how other files call it
};
// Devices in the order of the file; of several with the same name the values of the first.
Result<std::vector<ListedDevice>> parse_devices(std::string_view csv);

// The number in a field, which must be above 0; the error names line and column.
Result<double> positive_field(const CsvTable& table, const CsvRow& row, std::string_view column);

}  // namespace orrery::predict
