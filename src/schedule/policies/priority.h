#pragma once
// Highest priority first, preemptive.
//
// Assumes: gangs; preemption keeps the work done.
// 1. Unfinished jobs are ordered by decreasing priority.
// 2. Walk the order: every job that still fits runs, others are skipped; running jobs that are not reached by then are
//    suspended.
// Ties: earlier submission.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_priority(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
