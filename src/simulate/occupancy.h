#pragma once
// Which job was on which GPU when: the holdings of a run, laid onto the GPUs of each machine.
//
// Allocations name machines and numbers of GPUs, not single GPUs. Holdings are taken in the order of their start (then
// of their job), and each gets the lowest GPUs of its machine that are free by then. Jobs that share GPUs (packing)
// find none free and get extra lanes behind the last.

#include <string>
#include <vector>

#include "simulate/engine.h"

namespace orrery::simulate {

struct LaneSlice {
  JobIndex job = 0;
  TimeNs from_ns = 0, to_ns = 0;
};

struct Lane {
  std::int32_t machine = 0;
  std::int32_t gpu = 0;  // of the machine; beyond its GPUs: shared
  std::vector<LaneSlice> slices{};
};

// By machine, then GPU; every GPU has a lane. O(n log n + slices).
std::vector<Lane> lanes_of(const RunResult& run, const std::vector<schedule::MachineView>& machines);

// The first kGanttLanes lanes, coloured by tenant.
inline constexpr std::size_t kGanttLanes = 64;
std::string gantt_svg(const Workload& workload, const RunResult& run, const std::vector<Lane>& lanes);

}  // namespace orrery::simulate
