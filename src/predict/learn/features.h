#pragma once
// A table of numbers to learn from: rows of named float columns, contiguous by row. NaN means "not known".

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"

namespace orrery::predict {

class Features {
 public:
  explicit Features(std::vector<std::string> names) : names_(std::move(names)) {}

  // Precondition: one value per column.
  void add(std::span<const float> row) {
    ORRERY_CHECK(row.size() == names_.size());
    values_.insert(values_.end(), row.begin(), row.end());
    ++rows_;
  }
  void reserve(std::size_t rows) { values_.reserve(rows * names_.size()); }

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  std::span<const float> row(std::size_t index) const {
    return std::span(values_).subspan(index * names_.size(), names_.size());
  }

 private:
  std::vector<std::string> names_;
  std::vector<float> values_;
  std::size_t rows_ = 0;
};

// A size as a feature: sizes differ by factors, and may be 0.
inline float log_size(double size) {
  return static_cast<float>(std::log2(std::max(size, 0.0) + 1));
}

// What `model` predicts for every row.
template <class Model>
std::vector<double> predict_rows(const Model& model, const Features& features) {
  std::vector<double> predicted(features.rows());
  for (std::size_t i = 0; i < predicted.size(); ++i) predicted[i] = model.predict(features.row(i));
  return predicted;
}

}  // namespace orrery::predict
