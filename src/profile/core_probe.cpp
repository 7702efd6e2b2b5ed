#include "profile/core_probe.h"

#include <algorithm>

#include "base/statistics.h"

namespace orrery::profile {

namespace {

constexpr std::size_t kFloats = 64 * 1024;
constexpr int kSweeps = 40;
constexpr int kPasses = 3;
constexpr Seconds kLearning(1);
constexpr double kFastestShare = 0.01;  // of the passes: single ones may be too good to be true

// Sums the values in many independent lanes, so that loads and additions are all that counts.
float sum(const std::vector<float>& values) {
  constexpr std::size_t kLanes = 64;
  float lanes[kLanes] = {};
  for (std::size_t i = 0; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  float total = 0;
  for (const float lane : lanes) total += lane;
  return total;
}

}  // namespace

CoreProbe::CoreProbe(const env::Clock& clock) : clock_(clock), values_(kFloats, 1.0F) {
  std::vector<double> passes;
  for (const Seconds start = clock.monotonic(); passes.empty() || clock.monotonic() - start < kLearning;) {
    passes.push_back(pass());
    if (passes.back() <= 0) break;  // a clock that stands still
  }
  fastest_ = quantile(passes, kFastestShare);
}

double CoreProbe::pass() {
  const Seconds start = clock_.monotonic();
  for (int i = 0; i < kSweeps; ++i) {
    volatile float kept = sum(values_);
    (void)kept;
  }
  return (clock_.monotonic() - start).value();
}

double CoreProbe::slowness() {
  double best = pass();
  for (int i = 1; i < kPasses; ++i) best = std::min(best, pass());
  if (fastest_ <= 0) return 1;
  return best / fastest_;
}

}  // namespace orrery::profile
