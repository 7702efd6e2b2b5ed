#include "predict/learn/binning.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery::predict {

namespace {

constexpr std::size_t kSampleMax = 200'000;  // values looked at to place the edges of a column

// Between two neighbouring values, never above the upper one.
float between(float low, float high) {
  const float middle = low + (high - low) / 2;
  return middle >= low && middle < high ? middle : low;
}

// `sorted` has no NaN. Cuts after as many values as make an equal share of the rest, never inside equal values.
std::vector<float> quantile_edges(const std::vector<float>& sorted, std::size_t bins_max) {
  std::vector<float> edges;
  std::vector<std::pair<float, std::size_t>> distinct;
  for (const float value : sorted) {
    if (distinct.empty() || distinct.back().first != value)
      distinct.push_back({value, 1});
    else
      ++distinct.back().second;
  }
  const bool one_each = distinct.size() <= bins_max;
  std::size_t left = sorted.size();
  std::size_t in_bin = 0;
  for (std::size_t i = 0; i + 1 < distinct.size(); ++i) {
    in_bin += distinct[i].second;
    const std::size_t bins_left = bins_max - edges.size();
    if (bins_left <= 1) break;
    if (one_each || in_bin * bins_left >= left) {
      edges.push_back(between(distinct[i].first, distinct[i + 1].first));
      left -= in_bin;
      in_bin = 0;
    }
  }
  return edges;
}

std::vector<float> column_edges(const Features& features, std::size_t column) {
  const std::size_t step = std::max<std::size_t>(1, features.rows() / kSampleMax);
  std::vector<float> values;
  bool has_nan = false;
  for (std::size_t row = 0; row < features.rows(); ++row) {
    const float value = features.row(row)[column];
    if (std::isnan(value))
      has_nan = true;
    else if (row % step == 0)
      values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  std::vector<float> edges = quantile_edges(values, has_nan ? kBinsMax - 1 : kBinsMax);
  if (has_nan) edges.insert(edges.begin(), -std::numeric_limits<float>::infinity());
  return edges;
}

std::uint8_t bin_of(const std::vector<float>& edges, float value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::uint8_t>(std::lower_bound(edges.begin(), edges.end(), value) - edges.begin());
}

}  // namespace

BinnedFeatures::BinnedFeatures(const Features& features)
    : rows_(features.rows()), edges_(features.columns()), bins_(features.rows() * features.columns()) {
  for (std::size_t column = 0; column < edges_.size(); ++column) edges_[column] = column_edges(features, column);
  std::size_t at = 0;
  for (std::size_t row = 0; row < rows_; ++row) {
    const auto values = features.row(row);
    for (std::size_t column = 0; column < edges_.size(); ++column) bins_[at++] = bin_of(edges_[column], values[column]);
  }
}

}  // namespace orrery::predict
