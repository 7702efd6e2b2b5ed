#include "plan/partitions.h"

#include <algorithm>

namespace orrery::plan {

namespace {

void extend(Partition& parts, int left, int largest, std::vector<Partition>& found) {
  if (left == 0) {
    found.push_back(parts);
    return;
  }
  for (int part = std::min(left, largest); part >= 1; --part) {
    ++parts[static_cast<std::size_t>(part) - 1];
    extend(parts, left - part, part, found);
    --parts[static_cast<std::size_t>(part) - 1];
  }
}

}  // namespace

std::vector<Partition> partitions(int gpus) {
  Partition parts(static_cast<std::size_t>(gpus), 0);
  std::vector<Partition> found;
  extend(parts, gpus, gpus, found);
  return found;
}

BestCut best_cut(std::span<const double> prices) {
  const std::size_t gpus = prices.size();
  std::vector<double> worth(gpus + 1, 0);
  std::vector<std::size_t> last(gpus + 1, 0);
  for (std::size_t used = 1; used <= gpus; ++used) {
    worth[used] = -1;
    for (std::size_t part = 1; part <= used; ++part) {
      const double with = prices[part - 1] + worth[used - part];
      if (with <= worth[used]) continue;
      worth[used] = with;
      last[used] = part;
    }
  }
  BestCut best{worth[gpus], Partition(gpus, 0)};
  for (std::size_t left = gpus; left > 0; left -= last[left]) ++best.parts[last[left] - 1];
  return best;
}

}  // namespace orrery::plan
