#include "base/csv.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"

namespace orrery {

CsvReader::CsvReader(std::string_view text, std::size_t field_bytes_max)
    : text_(text), field_bytes_max_(field_bytes_max) {
  if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
}

Status CsvReader::next(CsvRow& row) {
  const std::size_t start = at_;
  row.line = line_;
  Status status = read_fields(row);
  if (!status) {
    at_ = std::min(text_.find_first_of("\r\n", start), text_.size());
    line_ = row.line;
    end_line();
  }
  skip_blank_lines();
  return status;
}

Status CsvReader::read_fields(CsvRow& row) {
  for (std::size_t count = 1;; ++count) {
    if (count > kCsvFieldsMax) return error(row.line, fmt::format("more than {} fields", kCsvFieldsMax));
    if (row.fields.size() < count) row.fields.emplace_back();
    ORRERY_TRY_VOID(read_field(row.fields[count - 1]));
    const bool goes_on = !at_end() && text_[at_] == ',';
    if (!goes_on) {
      row.fields.resize(count);
      end_line();
      return {};
    }
    ++at_;
  }
}

Status CsvReader::read_field(std::string& field) {
  if (!at_end() && text_[at_] == '"') return read_quoted(field);
  const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
  if (end - at_ > field_bytes_max_) return error(line_, fmt::format("a field of more than {} bytes", field_bytes_max_));
  field.assign(text_.substr(at_, end - at_));
  at_ = end;
  return {};
}

Status CsvReader::read_quoted(std::string& field) {
  const std::size_t first_line = line_;
  field.clear();
  for (++at_; !at_end(); ++at_) {
    if (text_[at_] == '\n') ++line_;
    if (text_[at_] == '"') {
      const bool doubled = at_ + 1 < text_.size() && text_[at_ + 1] == '"';
      ++at_;
      if (!doubled) {
        const bool ends = at_end() || text_[at_] == ',' || text_[at_] == '\r' || text_[at_] == '\n';
        if (ends) return {};
        return error(line_, "text after a closing quote");
      }
    }
    if (field.size() == field_bytes_max_) {
      return error(first_line, fmt::format("a field of more than {} bytes", field_bytes_max_));
    }
    field += text_[at_];
  }
  return error(first_line, "quote is never closed");
}

void CsvReader::end_line() {
  if (at_end()) return;
  if (text_[at_] == '\r') ++at_;
  if (!at_end() && text_[at_] == '\n') ++at_;
  ++line_;
}

void CsvReader::skip_blank_lines() {
  while (!at_end() && (text_[at_] == '\r' || text_[at_] == '\n')) end_line();
}

Error CsvReader::error(std::size_t line, std::string_view what) const {
  return Error::invalid(fmt::format("line {}: {}", line, what));
}

Result<std::size_t> CsvTable::column(std::string_view name) const {
  for (std::size_t i = 0; i < header.size(); ++i) {
    if (header[i] == name) return i;
  }
  return Error::invalid(
      fmt::format("no column \"{}\"{} (columns: {})", name, did_you_mean(name, header), fmt::join(header, ", ")));
}

Result<CsvTable> parse_csv(std::string_view text) {
  CsvReader reader(text);
  if (reader.at_end()) return Error::invalid("empty: expected a header line");
  CsvTable table;
  CsvRow row;
  ORRERY_TRY_VOID(reader.next(row));
  table.header = std::move(row.fields);
  while (!reader.at_end()) {
    CsvRow& added = table.rows.emplace_back();
    ORRERY_TRY_VOID(reader.next(added));
    if (added.fields.size() != table.header.size()) {
      return Error::invalid(
          fmt::format("line {}: {} fields, the header has {}", added.line, added.fields.size(), table.header.size()));
    }
  }
  return table;
}

}  // namespace orrery
