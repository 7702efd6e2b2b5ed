#pragma once
// Shortest remaining time first, preemptive ("shortest" in the Tiresias simulator).
//
// Assumes: gangs; predicted run times; preemption keeps the work done.
// 1. Unfinished jobs are ordered by remaining time.
// 2. Walk the order: every job that still fits runs, others are skipped; running jobs that are not reached by then are
//    suspended.
// 3. This happens when jobs arrive or end. In between the choice cannot change (preemptive_order.h).
// Ties: as if one list of all jobs were sorted by a stable sort at every event, new jobs at its end.
// Source: SymbioticLab/Tiresias, whose every end time it reproduces.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_srtf(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
