#include "base/csv.h"

#include <fmt/format.h>

#include "base/text.h"

namespace orrery {

namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  bool at_end() const { return at_ >= text_.size(); }

  Result<CsvRow> row() {
    CsvRow row{line_, {}};
    while (true) {
      ORRERY_TRY(std::string field, next_field());
      row.fields.push_back(std::move(field));
      if (row.fields.size() > kCsvFieldsMax) {
        return Error::invalid(fmt::format("line {}: more than {} fields", row.line, kCsvFieldsMax));
      }
      if (at_end()) return row;
      if (text_[at_] == ',') {
        ++at_;
        continue;
      }
      if (text_[at_] == '\r') ++at_;
      if (!at_end() && text_[at_] == '\n') {
        ++at_;
        ++line_;
      }
      return row;
    }
  }

 private:
  Result<std::string> next_field() {
    if (!at_end() && text_[at_] == '"') return quoted_field();
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string field(text_.substr(at_, end - at_));
    at_ = end;
    return field;
  }

  Result<std::string> quoted_field() {
    const std::size_t first_line = line_;
    std::string field;
    for (++at_; !at_end(); ++at_) {
      if (text_[at_] == '\n') ++line_;
      if (text_[at_] != '"') {
        field += text_[at_];
        continue;
      }
      const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == '"';
      ++at_;
      if (!doubled) {
        const bool ends = at_end() || text_[at_] == ',' || text_[at_] == '\r' || text_[at_] == '\n';
        if (ends) return field;
        return Error::invalid(fmt::format("line {}: text after a closing quote", line_));
      }
      field += '"';
    }
    return Error::invalid(fmt::format("line {}: quote is never closed", first_line));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

}  // namespace

Result<std::size_t> CsvTable::column(std::string_view name) const {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name) return i;
  }
  return Error::invalid(
      fmt::format("no column \"{}\"{} (columns: {})", name, did_you_mean(name, header), fmt::join(header, ", ")));
}

Result<CsvTable> parse_csv(std::string_view text) {
  Reader reader(text);
  if (reader.at_end()) return Error::invalid("empty: expected a header line");
  CsvTable table;
  ORRERY_TRY(CsvRow header, reader.row());
  table.header = std::move(header.fields);
  while (!reader.at_end()) {
    ORRERY_TRY(CsvRow row, reader.row());
    const bool blank = row.fields.size() == 1 && row.fields[0].empty();
    if (blank) continue;
    if (row.fields.size() != table.header.size()) {
      return Error::invalid(
          fmt::format("line {}: {} fields, the header has {}", row.line, row.fields.size(), table.header.size()));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace orrery
