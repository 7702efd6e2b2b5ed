#pragma once
// Windows over the operators of an iteration, and the mean of the answers of overlapping windows.
//
// Windows begin at 0, stride, 2 stride, …; the first one that reaches beyond the last row is padded and is the last. A
// row in c windows gets the mean of their c answers; padding has none.

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::predict {

// Preconditions: 1 <= stride <= width.
std::vector<std::size_t> window_starts(std::size_t rows, std::size_t width, std::size_t stride);

class WindowMean {
 public:
  WindowMean(std::size_t rows, std::size_t values) : values_(values), sums_(rows * values), counts_(rows) {}

  // The answers of one window for the rows from `start` on, `values` numbers each; rows beyond the last are padding.
  void add(std::size_t start, std::span<const double> answers);
  // Precondition: some window holds the row.
  double mean(std::size_t row, std::size_t value) const { return sums_[row * values_ + value] / counts_[row]; }

 private:
  std::size_t values_;
  std::vector<double> sums_;
  std::vector<double> counts_;
};

}  // namespace orrery::predict
