#pragma once
// Tetris (SIGCOMM'14): packs the jobs that fill machines best, and prefers jobs with little work left. Without
// preemption.
//
// Assumes: gangs; predicted run times; demands of GPUs, and of CPUs and memory where jobs and machines state them.
// 1. The alignment of a job is the product of its demands and what is free, each as shares of the cluster, summed.
// 2. Its shortness is 1 - (remaining GPU time / the largest among waiting jobs).
// 3. Score: alignment / largest alignment + shortness. The waiting job with the highest score that fits starts; repeat.
// Ties: earlier submission. O(waiting) per start: scores depend on what is free.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_tetris(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
