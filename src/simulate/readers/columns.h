#pragma once
// Fields of a row by the name of their column, with messages that state what is wrong.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace orrery::simulate {

class Columns {
 public:
  explicit Columns(std::vector<std::string> names) : names_(std::move(names)) {}

  bool has(std::string_view name) const { return place(name).has_value(); }
  std::size_t count() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  std::optional<std::size_t> place(std::string_view name) const;
  // Columns of which no field was read.
  std::vector<std::string> unread() const;
  void mark_read(std::size_t place) const;

 private:
  std::vector<std::string> names_;
  mutable std::vector<bool> read_{};  // by column
};

// Keeps the first error, so that a reader can ask for all fields and check once.
class RowReader {
 public:
  RowReader(const Columns& columns, const std::vector<std::string>& fields) : columns_(columns), fields_(fields) {}

  // Empty if there is no such column.
  std::string_view text(std::string_view column) const;
  double number(std::string_view column);                     // required
  double number_or(std::string_view column, double without);  // where the field is empty or missing
  double date(std::string_view column);                       // a date, or a number of seconds
  void fail(std::string_view column, std::string_view what);
  const Columns& columns() const { return columns_; }

  const std::string& fault() const { return fault_; }

 private:
  const Columns& columns_;
  const std::vector<std::string>& fields_;
  std::string fault_;
};

}  // namespace orrery::simulate
