#pragma once
// Optimus (EuroSys'18) for jobs with parameter servers and workers, on a cluster.
//
// Assumes: elastic jobs; a predicted step time with any number of servers and workers, and predicted steps left
// (ScalingModel); a worker needs a GPU, a server needs processors, of which a machine has enough for as many servers as
// it has GPUs; a change of either number is a restart.
// 1. Every round the numbers of servers and workers of all jobs are decided anew (optimus_ps.h). Gains count
//    `young_factor` times while a job has run for less than `young_s`, because its predictions are uncertain.
// 2. Jobs whose numbers did not change keep their places, unless a worker has less than half the speed of the median
//    one. The others are placed evenly on the fewest machines (placement/optimus_placement.h), the smallest first.
// 3. A job for which there is no place for a server and a worker waits.
// Jobs that must not be suspended yet keep what they have and are left out of 1 to 3.
// Ties: earlier submission; lower machine. Source: Peng et al., "Optimus" (EuroSys 2018), sections 4.1 and 4.2.
// O(tasks log jobs) per round.

#include <memory>

#include "schedule/policies/optimus.h"

namespace orrery::schedule {

// `model` is borrowed and must outlive the policy.
std::unique_ptr<Policy> make_optimus_servers(const OptimusOptions& options, const ScalingModel& model);

}  // namespace orrery::schedule
