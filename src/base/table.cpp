#include "base/table.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text.h"

namespace orrery {

namespace {

// Columns a terminal needs for UTF-8 text without combining or wide characters.
std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const char c : text) width += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return width;
}

std::string format_double(double value, CellFormat format) {
  switch (format) {
    case CellFormat::kSeconds:
      return format_seconds(Seconds(value));
    case CellFormat::kBytes:
      return format_bytes(Bytes(value));
    case CellFormat::kCount:
      return format_count(value);
    case CellFormat::kDollars:
      return format_dollars(Dollars(value));
    case CellFormat::kPercent:
      return fmt::format("{:.1f} %", value * 100);
    case CellFormat::kInteger:
      return fmt::format("{:.0f}", value);
    case CellFormat::kText:
    case CellFormat::kNumber:
      return format_number(value, 4);
  }
  return {};
}

nlohmann::ordered_json to_json_value(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return *whole;
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag;
  const auto* number = std::get_if<double>(&cell);
  if (number == nullptr || !std::isfinite(*number)) return nullptr;
  // Whole bytes and counts stay whole for programs.
  constexpr double kExactlyWhole = 9007199254740992.0;
  if (*number == std::floor(*number) && std::abs(*number) < kExactlyWhole) return static_cast<std::int64_t>(*number);
  return *number;
}

std::string csv_field(const Cell& cell) {
  if (std::holds_alternative<std::monostate>(cell)) return {};
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return to_json_value(cell).dump();
  // A field that starts like a byte-order mark would lose it when read back.
  const bool plain = text->find_first_of(",\"\r\n") == std::string::npos && !text->starts_with('\xEF');
  if (plain) return *text;
  std::string quoted = "\"";
  for (const char c : *text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + "\"";
}

}  // namespace

std::string format_cell(const Cell& cell, CellFormat format) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* flag = std::get_if<bool>(&cell)) return *flag ? "yes" : "no";
  if (const auto* number = std::get_if<double>(&cell)) return format_double(*number, format);
  const auto* whole = std::get_if<std::int64_t>(&cell);
  if (whole == nullptr) return "-";
  if (format == CellFormat::kText || format == CellFormat::kInteger) return std::to_string(*whole);
  return format_double(static_cast<double>(*whole), format);
}

void Table::add(std::vector<Cell> row) {
  ORRERY_CHECK(row.size() == columns_.size());
  rows_.push_back(std::move(row));
}

Result<Table> Table::select(const std::vector<std::string>& keys) const {
  std::vector<std::string> known;
  for (const Column& column : columns_) known.push_back(column.key);
  std::vector<std::size_t> chosen;
  std::vector<Column> columns;
  for (const std::string& key : keys) {
    const auto found = std::find(known.begin(), known.end(), key);
    if (found == known.end()) {
      return Error::invalid(
          fmt::format("unknown column \"{}\"{} (columns: {})", key, did_you_mean(key, known), fmt::join(known, ", ")));
    }
    chosen.push_back(static_cast<std::size_t>(found - known.begin()));
    columns.push_back(columns_[chosen.back()]);
    columns.back().shown = true;
  }
  Table selected(std::move(columns));
  for (const auto& row : rows_) {
    std::vector<Cell> cells;
    for (const std::size_t index : chosen) cells.push_back(row[index]);
    selected.add(std::move(cells));
  }
  return selected;
}

std::string Table::to_text() const {
  std::vector<std::size_t> widths;
  std::vector<std::vector<std::string>> shown(rows_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = display_width(columns_[c].title);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      shown[r].push_back(format_cell(rows_[r][c], columns_[c].format));
      width = std::max(width, display_width(shown[r].back()));
    }
    widths.push_back(width);
  }
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (!columns_[c].shown) continue;
      const std::string& cell = cell_of(c);
      const std::string padding(widths[c] - display_width(cell), ' ');
      if (!text.empty()) text += "  ";
      text += columns_[c].format == CellFormat::kText ? cell + padding : padding + cell;
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (const auto& row : shown) text += line([&](std::size_t c) -> const std::string& { return row[c]; });
  return text;
}

std::string Table::to_json() const {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object;
    for (std::size_t c = 0; c < columns_.size(); ++c) object[columns_[c].key] = to_json_value(row[c]);
    array.push_back(std::move(object));
  }
  return array.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string Table::to_csv() const {
  std::string text;
  for (std::size_t c = 0; c < columns_.size(); ++c) text += (c ? "," : "") + csv_field(columns_[c].key);
  text += "\r\n";
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) text += (c ? "," : "") + csv_field(row[c]);
    text += "\r\n";
  }
  return text;
}

}  // namespace orrery
