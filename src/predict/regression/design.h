#pragma once
// A table of named columns of doubles, by column: what regressions of a few hundred rows work on.

#include <span>
#include <string>
#include <vector>

#include "base/check.h"

namespace orrery::predict {

class Design {
 public:
  // Precondition: as many values as the other columns have.
  void add(std::string name, std::vector<double> values) {
    ORRERY_CHECK(columns_.empty() || values.size() == columns_.front().size());
    names_.push_back(std::move(name));
    columns_.push_back(std::move(values));
  }

  std::size_t rows() const { return columns_.empty() ? 0 : columns_.front().size(); }
  std::size_t columns() const { return columns_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  std::span<const double> column(std::size_t index) const { return columns_[index]; }

  // Some of the rows, in the order given.
  Design rows_at(std::span<const std::size_t> rows) const {
    Design some;
    for (std::size_t i = 0; i < columns(); ++i) {
      std::vector<double> values;
      values.reserve(rows.size());
      for (const std::size_t row : rows) values.push_back(columns_[i][row]);
      some.add(names_[i], std::move(values));
    }
    return some;
  }
  // Some of the columns, in the order given.
  Design columns_at(std::span<const std::size_t> columns) const {
    Design some;
    for (const std::size_t column : columns) some.add(names_[column], columns_[column]);
    return some;
  }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<double>> columns_;
};

}  // namespace orrery::predict
