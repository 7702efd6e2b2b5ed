#pragma once
// What preemptive list policies share: all unfinished jobs in one order; walk it and run every job that still fits.
//
// Why it is incremental. While time passes, waiting jobs keep their key and running jobs move forward. A running job
// that passes a waiting one leaves it with fewer GPUs than before, and two running jobs that change places both still
// fit: the choice changes only when jobs arrive or end. Then
// - a new job that fits into what is left over starts, and no other job changes;
// - otherwise only the first waiting job of each size can start, if the free GPUs and those of running jobs behind
//   it are enough; and only running jobs at the very end have to stop for it. No other job is examined.
//
// Jobs that must not be suspended yet (ClusterView::is_protected) are not in the order until they may.
//
// Ties, for orders whose key changes while a job runs: waiting jobs by the time their key last changed, before running
// jobs, before new ones. Among running jobs: those with more GPUs later where they move faster; otherwise the order in
// which the last of them started, before if it had waited and behind if it was new. This is what a stable sort of one
// list at every event gives.

#include <memory>
#include <string>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

enum class OrderRule { kRemainingTime, kRemainingService, kDeadline, kPriority };

// `placer` must always succeed when enough GPUs are free.
std::unique_ptr<Policy> make_preemptive_order(std::string name, OrderRule rule, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
