#pragma once
// Lucid (ASPLOS'23): shortest service first without preemption; jobs that fit together share GPUs.
//
// Assumes: gangs; predicted work; how much of a GPU and of its memory a job uses is known from a short profile.
// 1. Waiting jobs are in order of predicted work x GPUs. Those that fit start, the first in order first.
// 2. Jobs are tiny (0), medium (1) or jumbo (2) by the share of a GPU they keep busy. A waiting job that found no GPUs
//    shares those of a running job with as many GPUs that shares with no other, if their classes add up to at most 2
//    and their memory fits together: of these the one whose class, then utilisation, is least.
// 3. No jobs share while fewer jobs wait than `crowd`: where GPUs will be free soon, sharing only slows down.
// 4. A pair that does less work than by taking turns, rates measured, is undone: the job that came later waits again.
// Ties: earlier submission. O(started x sizes + sizes x running) per event.
// Source: Hu et al., "Lucid: A Non-intrusive, Scalable and Interpretable Scheduler" (ASPLOS 2023), sections 3.3
// and 3.4. The classes there come from a decision tree over four measurements; ours have limits on the one that decides
// most.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

struct LucidOptions {
  std::size_t crowd = 1;
};

// 0 tiny, 1 medium, 2 jumbo.
constexpr int lucid_class(double gpu_utilisation) {
  if (gpu_utilisation < 0.25) return 0;
  return gpu_utilisation < 0.6 ? 1 : 2;
}

constexpr bool lucid_packs(int class_a, int class_b) {
  return class_a + class_b <= 2;
}

std::unique_ptr<Policy> make_lucid(const LucidOptions& options, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
