#pragma once
// Comma-separated values with a header line (RFC 4180: quoted fields, doubled quotes, CRLF or LF).

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace orrery {

struct CsvRow {
  std::size_t line = 0;  // in the file, from 1
  std::vector<std::string> fields;
};

struct CsvTable {
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  // The place of a column; the error lists the columns there are.
  Result<std::size_t> column(std::string_view name) const;
};

// Every row must have as many fields as the header; a byte-order mark is skipped. Errors name the line.
inline constexpr std::size_t kCsvFieldsMax = 4096;
Result<CsvTable> parse_csv(std::string_view text);

}  // namespace orrery
