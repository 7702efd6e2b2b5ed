#include "elastic/monitor/step_time.h"

#include <algorithm>

namespace orrery::elastic {

std::vector<StepTime> split_step(std::span<const RankTime> by_rank) {
  double slowest = 0;
  for (const RankTime& rank : by_rank) slowest = std::max(slowest, rank.compute_s);
  std::vector<StepTime> times;
  for (const RankTime& rank : by_rank) {
    const double wait = std::min(slowest - rank.compute_s, rank.communication_s);
    times.push_back({rank.compute_s, wait, rank.communication_s - wait});
  }
  return times;
}

double straggler_index(std::span<const RankTime> by_rank) {
  std::vector<double> times;
  for (const RankTime& rank : by_rank) times.push_back(rank.compute_s);
  if (times.empty()) return 1;
  std::sort(times.begin(), times.end());
  const double median = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  return median > 0 ? times.back() / median : 1;
}

}  // namespace orrery::elastic
