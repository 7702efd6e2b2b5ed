#include "simulate/data_file.h"

#include <fmt/format.h>

#include "base/gzip.h"
#include "base/text.h"

namespace orrery::simulate {

Result<std::string> read_data_file(env::Files& files, const std::string& path) {
  const std::string found = !files.exists(path) && files.exists(path + ".gz") ? path + ".gz" : path;
  ORRERY_TRY(std::string content, files.read(found, kDataBytesMax));
  if (!is_gzip(content)) return content;
  auto unpacked = gunzip(content, kDataBytesMax);
  if (!unpacked) return std::move(unpacked).error().with_context(found);
  return unpacked;
}

Result<CsvTable> read_csv_file(env::Files& files, const std::string& path) {
  ORRERY_TRY(const std::string content, read_data_file(files, path));
  auto table = parse_csv(content);
  if (!table) return std::move(table).error().with_context(path);
  return table;
}

Result<double> number_field(const CsvTable& table, const CsvRow& row, std::string_view column) {
  ORRERY_TRY(const std::size_t at, table.column(column));
  const std::optional<double> number = parse_number(row.fields[at]);
  if (number) return *number;
  return Error::invalid(
      fmt::format("line {}: {}: expected a number instead of {}", row.line, column, quote(row.fields[at])));
}

Result<std::string> text_field(const CsvTable& table, const CsvRow& row, std::string_view column) {
  ORRERY_TRY(const std::size_t at, table.column(column));
  return row.fields[at];
}

}  // namespace orrery::simulate
