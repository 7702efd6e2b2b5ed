#pragma once
// 2D-Gittins: like 2D-LAS (las.h), but inside a queue the job most likely to end soon for its service goes first.
//
// Assumes: gangs; preemption keeps the work done. How much service jobs need is known from a given sample, or from the
// jobs that have ended so far (gittins_ranks.h).
// 1. and 2. as in las.h: new jobs into queue 0, one queue on when the limit is reached.
// 3. Sort every queue by Gittins rank (gittins_index.h) of attained service, highest first, then earlier submission.
// 4. Walk the queues in order: a job that still fits runs, others are skipped or suspended.
// 5. Put running jobs of each queue before waiting ones. The policy is called again as in las.h.
// Ties beyond submission: as the queue stood. Source: SymbioticLab/Tiresias ("dlas-gpu-gittins"), every end time of
// which it reproduces. O(n log n) per event: ranks change as jobs run.

#include <memory>
#include <vector>

#include "schedule/placement/placer.h"
#include "schedule/policies/gittins_ranks.h"
#include "schedule/policies/las.h"
#include "schedule/policy.h"

namespace orrery::schedule {

// `options.count_gpus` must be true.
std::unique_ptr<Policy> make_gittins(const LasOptions& options, GittinsRanks ranks, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
