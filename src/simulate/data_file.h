#pragma once
// Reads data files, packed or not, and the numbers in them.

#include <string>
#include <string_view>

#include "base/csv.h"
#include "base/result.h"
#include "base/units.h"
#include "env/files.h"

namespace orrery::simulate {

inline constexpr Bytes kDataBytesMax = gibibytes(1);

// The content of `path`, or of `path`.gz, unpacked.
Result<std::string> read_data_file(env::Files& files, const std::string& path);
Result<CsvTable> read_csv_file(env::Files& files, const std::string& path);

// The number in a field; the error names line and column.
Result<double> number_field(const CsvTable& table, const CsvRow& row, std::string_view column);
Result<std::string> text_field(const CsvTable& table, const CsvRow& row, std::string_view column);

}  // namespace orrery::simulate
