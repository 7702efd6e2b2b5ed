#pragma once
// Pollux (OSDI'21): GPUs go where they speed up training most, with the batch chosen along with them.
//
// Assumes: elastic jobs; goodput (progress of training per second, with the best batch) by GPUs is known; a change of
// GPUs costs a restart.
// 1. The speedup of a job is its goodput on its GPUs / that on one. The aim is the largest power mean of speedups with
//    power -1, that is the least sum of 1 / speedup. A job without GPUs counts as one with a speedup of `none_speedup`.
// 2. A running job whose GPUs change counts with its speedup x (age - restarts x d) / (age + d), where d is the delay
//    of a restart.
// 3. Every round searches from two starting points, the present allocation and an empty one, and takes the result with
//    the smaller sum. Each search makes the best of these changes until none helps: a job gets its next size from free
//    GPUs; a job gets it from another job, which goes back to a smaller size.
// 4. Sizes are 1 to 4 GPUs and whole machines beyond, so that no machine has parts of two large jobs.
// 5. Jobs that keep their number of GPUs keep their GPUs; others are placed anew, the largest first.
// Jobs that must not be suspended yet keep their GPUs. The published policy searches with a genetic algorithm, over
// places as well. Ties: earlier submission. O(jobs log jobs) per change. Source: Qiao et al., "Pollux: Co-adaptive
// Cluster Scheduling for Goodput-Optimized Deep Learning" (OSDI 2021), section 4.2.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"
#include "schedule/scaling_model.h"

namespace orrery::schedule {

// What is known about training beyond the time of a step.
class GoodputModel : public ScalingModel {
 public:
  // Progress per second on `gpus` GPUs placed as well as possible, with the best batch; 0: it cannot run.
  virtual double goodput(JobIndex job, int gpus) const = 0;
  // GPUs beyond which the largest batch cannot be divided.
  virtual int goodput_gpus_max(JobIndex job) const = 0;
};

struct PolluxOptions {
  double round_s = 60;
  double restart_s = 30;
  double none_speedup = 0.2;
  int gpus_per_machine = 4;
};

std::unique_ptr<Policy> make_pollux(const PolluxOptions& options, const GoodputModel& model,
                                    std::unique_ptr<Placer> placer);

// For jobs that keep their batch: goodput is speed alone. `model` is borrowed.
std::unique_ptr<Policy> make_fixed_batch_pollux(const PolluxOptions& options, const ScalingModel& model,
                                                std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
