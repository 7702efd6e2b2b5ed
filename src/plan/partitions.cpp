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

}  // namespace orrery::plan
