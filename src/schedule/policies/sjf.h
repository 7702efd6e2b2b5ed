#pragma once
// Shortest job first, without preemption.
//
// Assumes: gangs; predicted run times.
// 1. Waiting jobs are ordered by predicted work.
// 2. Walk the order: every job that fits starts, others are skipped and keep their place.
// Ties: earlier submission.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_sjf(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
