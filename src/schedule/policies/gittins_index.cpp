#include "schedule/policies/gittins_index.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace orrery::schedule {

namespace {

// Rounds the decimal text of the number half to even, as Python does, and not a product with a power of ten.
double round_to(double value, int digits) {
  char text[512];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return std::strtod(text, nullptr);
}

}  // namespace

Result<GittinsIndex> GittinsIndex::make(std::span<const double> sample_gpu_s, double quantum_gpu_s) {
  if (sample_gpu_s.size() < 2) return Error::invalid("a Gittins index needs a sample of at least two GPU times");
  GittinsIndex index;
  index.sample_.assign(sample_gpu_s.begin(), sample_gpu_s.end());
  std::sort(index.sample_.begin(), index.sample_.end());
  if (!(index.sample_.front() >= 0) || !(quantum_gpu_s > 0)) {
    return Error::invalid("GPU times of a Gittins index must not be negative");
  }
  const std::vector<double>& sample = index.sample_;
  std::vector<double> sums = {0};
  for (const double value : sample) sums.push_back(sums.back() + value);
  const std::size_t n = sample.size();
  const auto count_to = [&](double limit) {
    return static_cast<std::size_t>(std::upper_bound(sample.begin(), sample.end(), limit) - sample.begin());
  };
  for (const double value : sample) {
    const double attained = value - 1;
    if (attained > sample.back() - 1) {
      index.ranks_.push_back(0);
      continue;
    }
    const std::size_t i = count_to(attained);
    const std::size_t k = attained + quantum_gpu_s > sample.back() - 1 ? n - 1 : count_to(attained + quantum_gpu_s);
    const auto left = static_cast<double>(n - i);
    const double ends = static_cast<double>(k) - static_cast<double>(i);
    const double spent = sums[std::max(i, k)] - sums[i] + quantum_gpu_s * static_cast<double>(n - k);
    const double p = round_to(ends / left, 5), e = round_to(spent / left, 5);
    index.ranks_.push_back(e > 0 ? round_to(p * 1e6 / e, 4) : 0);
  }
  return index;
}

double GittinsIndex::rank(double attained_gpu_s) const {
  const auto above = std::upper_bound(sample_.begin(), sample_.end(), attained_gpu_s);
  return above == sample_.end() ? 0 : ranks_[static_cast<std::size_t>(above - sample_.begin())];
}

}  // namespace orrery::schedule
