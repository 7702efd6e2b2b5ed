#pragma once
// A table of results: aligned text for people, JSON and CSV for programs.
//
// A column has a key with its unit ("iteration_s") for programs and a title for people. Cells hold plain values in the
// unit of the key; the column's format decides how people see them ("23.4 ms").

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace orrery {

enum class CellFormat { kText, kInteger, kNumber, kSeconds, kBytes, kCount, kDollars, kPercent };

struct Column {
  std::string key;
  std::string title;
  CellFormat format = CellFormat::kText;
  bool shown = true;  // false: in JSON and CSV only
};

using Cell = std::variant<std::monostate, std::string, std::int64_t, double, bool>;

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Precondition: as many cells as columns.
  void add(std::vector<Cell> row);

  std::size_t rows() const { return rows_.size(); }
  const std::vector<Column>& columns() const { return columns_; }
  const Cell& at(std::size_t row, std::size_t column) const { return rows_[row][column]; }

  // Keeps only the named columns, in the given order (for --columns).
  Result<Table> select(const std::vector<std::string>& keys) const;

  std::string to_text() const;
  std::string to_json() const;  // an array of objects
  std::string to_csv() const;   // RFC 4180

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// How people see one cell.
std::string format_cell(const Cell& cell, CellFormat format);

}  // namespace orrery
