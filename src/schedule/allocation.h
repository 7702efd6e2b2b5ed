#pragma once
// Which GPUs of which machines a job holds.

#include <cstdint>
#include <vector>

namespace orrery::schedule {

struct Slice {
  std::int32_t machine = 0;
  std::int32_t gpus = 0;

  friend bool operator==(const Slice&, const Slice&) = default;
};

// In the order in which the machines were chosen; no machine twice, no slice without GPUs.
using Allocation = std::vector<Slice>;

inline int gpus_in(const Allocation& allocation) {
  int gpus = 0;
  for (const Slice& slice : allocation) gpus += slice.gpus;
  return gpus;
}

}  // namespace orrery::schedule
