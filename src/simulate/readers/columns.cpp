#include "simulate/readers/columns.h"

#include <fmt/format.h>

#include "base/text.h"
#include "simulate/readers/dates.h"

namespace orrery::simulate {

std::optional<std::size_t> Columns::place(std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return i;
  }
  return std::nullopt;
}

void Columns::mark_read(std::size_t place) const {
  if (read_.empty()) read_.resize(names_.size());
  read_[place] = true;
}

std::vector<std::string> Columns::unread() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (read_.empty() || !read_[i]) names.push_back(names_[i]);
  }
  return names;
}

std::string_view RowReader::text(std::string_view column) const {
  const auto at = columns_.place(column);
  if (!at || *at >= fields_.size()) return {};
  columns_.mark_read(*at);
  return trim(fields_[*at]);
}

void RowReader::fail(std::string_view column, std::string_view what) {
  if (fault_.empty()) fault_ = fmt::format("{}: {}", column, what);
}

double RowReader::number(std::string_view column) {
  const std::string_view field = text(column);
  const std::optional<double> value = parse_number(field);
  if (!value) fail(column, fmt::format("expected a number instead of {}", quote(field)));
  return value.value_or(0);
}

double RowReader::number_or(std::string_view column, double without) {
  return text(column).empty() ? without : number(column);
}

double RowReader::date(std::string_view column) {
  const std::string_view field = text(column);
  if (const std::optional<double> value = parse_number(field)) return *value;
  const std::optional<double> value = parse_date_s(field);
  if (!value) fail(column, fmt::format("expected a date such as 2017-09-04 10:30:41 instead of {}", quote(field)));
  return value.value_or(0);
}

}  // namespace orrery::simulate
