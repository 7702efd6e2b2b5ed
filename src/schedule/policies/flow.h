#pragma once
// Our own: elastic jobs, the shortest with most GPUs, as few restarts as that allows.
//
// Assumes: elastic jobs (from one GPU up); predicted work; how jobs scale is known; one type of GPU.
// Where speed grows with k GPUs like k^p, the least mean completion time of m jobs gives the i-th longest the share
// (i/m)^q - ((i-1)/m)^q of all GPUs, q = 1 / (1 - p) (heSRPT): more jobs than GPUs run one by one, the shortest first;
// a few are given all. That is, the shortest gets 1 - ((m-1)/m)^q of them, and the next the same of what is left with m
// - 1.
// 1. Jobs stand in order of the time they still need on one GPU. Each in turn gets that part of the GPUs left, with p
// as
//    its own scaling has it there (speed on twice as many GPUs); at least one, at most what it can use.
// 2. What is left goes to the first in order that get faster by it.
// 3. A running job keeps the GPUs it has if they are within a factor of `slack` of that and it can have them, or if it
// will
//    end before a change has paid for itself.
// 4. Jobs that keep their number of GPUs keep their GPUs; others are placed anew, the largest first.
// Jobs that must not be suspended yet keep their GPUs. Ties: earlier submission. O(jobs log jobs) per event.
// Source: Berg, Vesilo, Harchol-Balter, "heSRPT: Parallel scheduling to minimize mean slowdown" (2020), for the shares.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"
#include "schedule/scaling_model.h"

namespace orrery::schedule {

struct FlowOptions {
  double slack = 2;       // factor within which a running job keeps its GPUs
  double change_s = 150;  // a job with less to go is left alone
};

std::unique_ptr<Policy> make_flow(const FlowOptions& options, const ScalingModel& model,
                                  std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
