#include "schedule/work_values.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace orrery::schedule {

namespace {

// The largest gains of the jobs so far, for as many GPUs as there are, and what they add up to.
class Gains {
 public:
  explicit Gains(int gpus) : gpus_(static_cast<std::size_t>(gpus)) {}

  double sum() const { return sum_; }
  // The loss of the sum with this many GPUs fewer than there are, where one less loses `before`.
  double lost(int fewer, double before) const {
    const auto left = gpus_ - static_cast<std::size_t>(fewer);
    return left < gains_.size() ? before + gains_[left] : before;
  }

  void add(const Speedup& speedup, double value) {
    fresh_.clear();
    for (int k = 1; k <= speedup.most(); ++k) fresh_.push_back(value * speedup.gain(k));
    merged_.resize(gains_.size() + fresh_.size());
    std::merge(gains_.begin(), gains_.end(), fresh_.begin(), fresh_.end(), merged_.begin(), std::greater<>());
    sum_ += value * speedup.at(speedup.most());
    for (; merged_.size() > gpus_; merged_.pop_back()) sum_ -= merged_.back();
    gains_.swap(merged_);
  }

 private:
  std::size_t gpus_;
  double sum_ = 0;
  std::vector<double> gains_, fresh_, merged_;
};

}  // namespace

Speedup::Speedup(std::vector<double> speeds) {
  ORRERY_CHECK(!speeds.empty() && speeds.front() > 0);
  speeds_ = {0};
  std::vector<int> corners = {0};
  const auto slope = [&](int from, int to) {
    const auto speed = [&](int k) { return k == 0 ? 0 : speeds[static_cast<std::size_t>(k) - 1]; };
    return (speed(to) - speed(from)) / (to - from);
  };
  for (int k = 1; k <= static_cast<int>(speeds.size()); ++k) {
    while (corners.size() > 1 && slope(corners[corners.size() - 2], corners.back()) <= slope(corners.back(), k))
      corners.pop_back();
    corners.push_back(k);
  }
  for (std::size_t c = 1; c < corners.size(); ++c) {
    const double gain = slope(corners[c - 1], corners[c]);
    if (gain <= 0) break;
    for (int k = corners[c - 1]; k < corners[c]; ++k) speeds_.push_back(speeds_.back() + gain);
  }
}

std::vector<double> work_values(std::span<const ValuedJob> jobs, int gpus) {
  std::vector<double> values(jobs.size());
  Gains gains(gpus);
  double weights = 0;
  for (std::size_t i = jobs.size(); i-- > 0;) {
    const Speedup& speedup = *jobs[i].speedup;
    weights += jobs[i].weight;
    double value = std::numeric_limits<double>::infinity(), lost = 0;
    for (int k = 1; k <= std::min(speedup.most(), gpus); ++k) {
      lost = gains.lost(k, lost);
      value = std::min(value, (weights - gains.sum() + lost) / speedup.at(k));
    }
    values[i] = value;
    gains.add(speedup, value);
  }
  return values;
}

}  // namespace orrery::schedule
