#include "predict/neural/windows.h"

#include "base/check.h"

namespace orrery::predict {

std::vector<std::size_t> window_starts(std::size_t rows, std::size_t width, std::size_t stride) {
  ORRERY_CHECK(stride >= 1 && stride <= width);
  std::vector<std::size_t> starts;
  for (std::size_t start = 0; start < rows; start += stride) {
    starts.push_back(start);
    if (start + width > rows) break;
  }
  return starts;
}

void WindowMean::add(std::size_t start, std::span<const double> answers) {
  for (std::size_t i = 0; i * values_ < answers.size() && start + i < counts_.size(); ++i) {
    for (std::size_t v = 0; v < values_; ++v) sums_[(start + i) * values_ + v] += answers[i * values_ + v];
    counts_[start + i] += 1;
  }
}

}  // namespace orrery::predict
