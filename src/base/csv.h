#pragma once
// Comma-separated values with a header line (RFC 4180: quoted fields, doubled quotes, CRLF or LF).

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace orrery {

inline constexpr std::size_t kCsvFieldsMax = 4096;

struct CsvRow {
  std::size_t line = 0;  // in the file, from 1
  std::vector<std::string> fields;
};

// Reads row by row, for files too large or too doubtful to be held as one table. A byte-order mark and blank lines
// behind the header are skipped. The text must outlive the reader.
class CsvReader {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  explicit CsvReader(std::string_view text, std::size_t field_bytes_max = kUnlimited);

  bool at_end() const { return at_ >= text_.size(); }

  // Reads the next row into `row`, whose storage is used again; call only while not at_end(). After an error, which
  // names the line (also in row.line), the reader is behind the line the row began on, and reading can continue.
  Status next(CsvRow& row);

 private:
  Status read_fields(CsvRow& row);
  Status read_field(std::string& field);
  Status read_quoted(std::string& field);
  void end_line();
  void skip_blank_lines();
  Error error(std::size_t line, std::string_view what) const;

  std::string_view text_;
  std::size_t field_bytes_max_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

struct CsvTable {
  std::vector<std::string> header;
  std::vector<CsvRow> rows;

  // The place of a column; the error lists the columns there are.
  Result<std::size_t> column(std::string_view name) const;
};

// Every row must have as many fields as the header. Errors name the line.
Result<CsvTable> parse_csv(std::string_view text);

}  // namespace orrery
