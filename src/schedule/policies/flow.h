#pragma once
// Our own: elastic jobs, GPUs where they shorten the sum of completion times most, as few restarts as that allows.
//
// Assumes: elastic jobs (from one GPU up); predicted work; how jobs scale is known; one type of GPU. Stages of
// iterations are known, or follow the utilisation of the GPU.
// 1. Jobs are in order of the time they still need on one GPU. What a second of their work is worth comes from that
//    order and their speedups (work_values.h): if no job came later, GPUs that always go where value x speed grows most
//    would give the least sum of completion times. In a long queue only the first have a value (twice as many as GPUs,
//    at least 1,000), the last of them for all behind it.
// 2. A running job has its speed for nothing where it is. With another number of GPUs it is counted as slower by the
//    share change_s / min(time left, horizon_s), and a suspension costs it that share of the speed it has: what a
//    change costs is spread over the time for which it can last.
// 3. All GPUs have one price. At a price every job has the number of GPUs for which worth - price x GPUs is largest;
//    the price is the least at which they all fit.
// 4. GPUs left over go, one after the other, to the job to which they are worth most; to a job that would keep its
//    number, all it can use at once.
// 5. Where iterations leave GPUs idle, jobs that got none share those of others, their stages in turns, if all together
//    are worth more then (flow_sharing.h). A job that keeps its GPUs keeps the jobs beside it.
// 6. Jobs that keep their number of GPUs keep their GPUs; others are placed anew, the largest first.
// Jobs that must not be suspended yet stay where they are. Ties: the present number of GPUs, then the shorter job, then
// earlier submission. O(jobs + valued jobs x GPUs) per event.
// Source: the values generalise Berg, Vesilo, Harchol-Balter, "heSRPT: Parallel scheduling to minimize mean slowdown"
// (2020) to any speedups that grow ever slower.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"
#include "schedule/scaling_model.h"

namespace orrery::schedule {

struct FlowOptions {
  double change_s = 90;     // what a change costs: three restarts of 30 s, as one change is followed by others
  double horizon_s = 1000;  // for which a change lasts at most
};

std::unique_ptr<Policy> make_flow(const FlowOptions& options, const ScalingModel& model,
                                  std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
