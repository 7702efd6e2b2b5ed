#pragma once
// Which jobs share GPUs under flow: when GPUs are granted, jobs that got none join those where all together are worth
// most.
//
// Assumes: stages of jobs take turns (interleaving_table.h); what is left of a job's speed in a group does not depend
// on the number of GPUs.
// 1. Every job with GPUs is a group. A group is worth the sum over its jobs of value x speed on its GPUs x what is left
//    of the speed among these jobs.
// 2. In the order given, each job without GPUs joins the group whose worth grows most by it, if one's does. A job that
//    would have to start there counts as slower by the share that a change costs it.
// 3. Jobs that must not be suspended stay where they are, before all others. After kMissesMax jobs that found no group,
// only jobs that share already are looked at. Ties: the group whose host comes first. O((sharing + kMissesMax) x
// groups).

#include <span>
#include <vector>

#include "schedule/interleaving_table.h"
#include "schedule/work_values.h"

namespace orrery::schedule {

struct SharingJob {
  const Speedup* speedup = nullptr;
  double value = 0;   // of a step
  double change = 0;  // share of its speed that a start costs it
  InterleavingTable::Kind kind = 0;
  int gpus = 0;            // granted; 0: none
  int beside = -1;         // the host, by its place, whose GPUs it shares now and which keeps them; -1: none
  bool must_stay = false;  // at its host
};

// For each job the place of the one whose GPUs it is to share; -1: none.
std::vector<int> share_gpus(std::span<const SharingJob> jobs, InterleavingTable& table);

}  // namespace orrery::schedule
