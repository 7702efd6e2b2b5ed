#pragma once
// 2D-LAS: least attained service first, in a few queues (Tiresias, NSDI'19; "dlas-gpu" of its simulator).
//
// Assumes: gangs; nothing is known about run times; preemption keeps the work done.
// 1. New jobs go to the tail of queue 0.
// 2. A running job whose attained service (executed time x GPUs) has reached the limit of its queue goes to the tail of
//    the next one; several at once in order of submission, one queue per event. There is no way back.
// 3. Walk the queues in order, and each from head to tail: a job that still fits runs, others are skipped or suspended.
// 4. Then every queue is put in order: running jobs first, waiting ones behind, both as they stood.
// 5. The policy is called again when the next running job reaches its limit.
// Ties: none, queues are lists. Source: SymbioticLab/Tiresias, whose every end time it reproduces.
// O(queues + log n) per event when no job has to be suspended.

#include <memory>
#include <vector>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

struct LasOptions {
  std::vector<double> limits_gpu_s = {3250, 7200};  // of all queues but the last
  bool count_gpus = true;                           // false: executed time alone ("dlas")
  // The next demotion is checked after ceil((limit - executed seconds) / GPUs) seconds, as in the simulator of the
  // authors, and not when it is due.
  bool jumps_of_simulator = false;
};

std::unique_ptr<Policy> make_las(const LasOptions& options, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
