#pragma once
// AlloX (EuroSys'20): the smallest sum of completion times of a batch on machines of several types, exactly.
//
// Assumes: one GPU per job, runtimes known on every type, no preemption, all jobs submitted at time 0; deadlines are
// ignored. The job at the k-th place from the end of a machine's queue delays k jobs, so the sum is that of k x
// runtime. AlloX matches jobs to (machine, k). Machines of a type are alike, so this is a transportation problem with
// slots (type, k) of as many places as the type has machines, and on one type the best order is known: the longest jobs
// have k = 1.
//
// 1. Jobs are inserted one by one. A job enters a type at its place in the order of runtimes.
// 2. A slot that is too full passes its shortest job to the slot behind (k + 1), its longest to the one before (k - 1),
//    or any of its jobs to its place on another type. The last slot of a type has free places.
// 3. The cheapest chain of such moves (Bellman-Ford over slots) is carried out: successive shortest paths, so the sum
//    is the least possible for the inserted jobs.
// Ties: lower type, then lower slot, then the job that came first; the sum does not depend on them.
// O(n^2 types) time with a small constant, O(n types) memory. Source: Le et al., "AlloX" (EuroSys 2020).

#include "schedule/policies/batch_plan.h"

namespace orrery::schedule {

Result<std::vector<BatchQueue>> solve_allox(const BatchProblem& problem);

}  // namespace orrery::schedule
