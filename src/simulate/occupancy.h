#pragma once
// Which job was on which GPU when: the holdings of a run, laid onto the GPUs of each machine.
//
// Allocations name machines and numbers of GPUs, not single GPUs. Holdings are taken in the order of their start, and
// each gets the lowest GPUs of its machine that are free by then. Jobs that share GPUs are on those of the job they
// joined.

#include <string>
#include <vector>

#include "base/plot/plots.h"
#include "simulate/engine.h"
#include "trace/event_log.h"

namespace orrery::simulate {

struct LaneSlice {
  JobIndex job{};
  TimeNs from_ns = 0, to_ns = 0;
  std::size_t level = 0;  // among jobs that share the GPU: slices of one level do not overlap
};

struct Lane {
  MachineIndex machine{};
  std::int32_t gpu = 0;             // of the machine
  std::vector<LaneSlice> slices{};  // by their start
};

// By machine, then GPU; every GPU has a lane, and nothing else. O(n log n + slices).
std::vector<Lane> lanes_of(const RunResult& run, const schedule::Machines& machines);

// The first kGanttLanes lanes, coloured by tenant. Every slice is in it, however short.
inline constexpr std::size_t kGanttLanes = 64;
plot::GanttPlot gantt_of(const JobTrace& job_trace, const RunResult& run, const std::vector<Lane>& lanes);
std::string gantt_svg(const JobTrace& job_trace, const RunResult& run, const std::vector<Lane>& lanes);

// One track per GPU of each run, for trace/trace_writers.h. Jobs that share a GPU have tracks of their own, since the
// slices of a track do not overlap.
trace::EventLog occupancy_events(const JobTrace& job_trace, const std::vector<RunResult>& runs,
                                 const schedule::Machines& machines);

}  // namespace orrery::simulate
