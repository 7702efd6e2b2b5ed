#pragma once
// Which GPUs of which machines a job holds.

#include <cstdint>
#include <vector>

#include "base/index.h"

namespace orrery::schedule {

using MachineIndex = Index<struct MachineKind>;

inline constexpr MachineIndex kNoMachine{};

struct Slice {
  MachineIndex machine{};
  std::int32_t gpus = 0;
  std::int32_t servers = 0;  // parameter servers, which need no GPU

  friend bool operator==(const Slice&, const Slice&) = default;
};

// In the order in which the machines were chosen; no machine twice, no slice without a GPU or server.
using Allocation = std::vector<Slice>;

inline int gpus_in(const Allocation& allocation) {
  int gpus = 0;
  for (const Slice& slice : allocation) gpus += slice.gpus;
  return gpus;
}

// In a job without any, workers exchange gradients among themselves.
inline int servers_in(const Allocation& allocation) {
  int servers = 0;
  for (const Slice& slice : allocation) servers += slice.servers;
  return servers;
}

}  // namespace orrery::schedule
