#pragma once
// Hydra: deadlines first, then completion time, for a batch on machines of several types.
//
// Assumes: one GPU per job, runtimes known on every type, no preemption, all jobs submitted at time 0.
// The cost of queues is lexicographic: the sum of deadline overruns, then the sum of completion times.
// 1. Start from the exact optimum without deadlines (allox.h).
// 2. Take jobs one by one, late ones first. Take the best of: moving it to any place of any queue, and exchanging it
//    with a job of another queue, both brought to the best place. Keep it if the cost falls.
// 3. Repeat until a whole round changes nothing, or `rounds_max` is reached.
// The published procedure fills queues greedily instead and repairs each (dos-lab/Hydra); starting from the optimum is
// both faster and better on its own cases. Ties: the first found, by job, then queue, then place.
// Source: the published Hydra scheduler for heterogeneous clusters; the search is ours.

#include "schedule/policies/batch_plan.h"

namespace orrery::schedule {

struct HydraOptions {
  int rounds_max = 60;
};

Result<std::vector<BatchQueue>> plan_hydra(const BatchProblem& problem, const HydraOptions& options = {});

}  // namespace orrery::schedule
