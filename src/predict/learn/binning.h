#pragma once
// Cuts the columns of a table into at most 256 bins of about equal population, so that a tree needs only the bins.
//
// Bin b of a column holds the values v with edge[b−1] < v <= edge[b]. Edges are between neighbouring values. A column
// with NaN has a first bin of its own for them, below every number.

#include <cstdint>
#include <span>
#include <vector>

#include "predict/learn/features.h"

namespace orrery::predict {

inline constexpr std::size_t kBinsMax = 256;

class BinnedFeatures {
 public:
  explicit BinnedFeatures(const Features& features);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return edges_.size(); }
  // Of one row, one bin per column.
  const std::uint8_t* row(std::size_t index) const { return bins_.data() + index * edges_.size(); }
  std::size_t bin_count(std::size_t column) const { return edges_[column].size() + 1; }
  // The largest value of a bin that is not the last.
  float edge(std::size_t column, std::size_t bin) const { return edges_[column][bin]; }

 private:
  std::size_t rows_;
  std::vector<std::vector<float>> edges_;  // increasing, by column
  std::vector<std::uint8_t> bins_;         // by row
};

}  // namespace orrery::predict
