#pragma once
// Tiresias in rounds, as the Pollux simulator has it: 2D-LAS with two queues whose order never changes.
//
// Assumes: gangs; nothing is known about run times; preemption keeps the work done.
// 1. New jobs go to the tail of queue 0.
// 2. A job that ran and whose executed time x GPUs has reached the limit of its queue goes to the tail of the next,
//    several at once in order of submission.
// 3. Walk queue 0, then 1: a job whose GPUs fit into what is left runs, others wait; later ones may overtake.
// 4. Jobs that stop release their GPUs; those that run already keep theirs; the others are placed in this order.
// Ties: none, queues are lists. Source: petuum/adaptdl osdi21-artifact, every completion time of which it reproduces.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

struct TiresiasOptions {
  std::vector<double> limits_gpu_s = {57'600};
  double round_s = 60;
};

std::unique_ptr<Policy> make_tiresias(const TiresiasOptions& options, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
