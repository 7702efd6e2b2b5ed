#pragma once
// Shortest remaining service first, preemptive ("shortest-gpu" in the Tiresias simulator).
//
// Assumes: gangs; predicted run times; preemption keeps the work done.
// 1. Unfinished jobs are ordered by remaining time x GPUs.
// 2. and 3. as in srtf.h.
// Ties: as if one list of all jobs were sorted by a stable sort at every event, new jobs at its end.
// Source: SymbioticLab/Tiresias, whose every end time it reproduces.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_srsf(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
