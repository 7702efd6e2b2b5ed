#pragma once
// AlloX and Hydra as jobs come and go: the batch plans of allox.h and hydra.h, made anew at every event.
//
// Assumes: predicted run times, and speeds on the types of devices where they differ; no preemption. The plans are
// about jobs of one GPU; what is done about gangs (2) is ours.
// 1. Only jobs that wait and GPUs that are free take part.
// 2. Gangs take what a plan left free, the shortest first, on the fastest of their types with enough free GPUs; where
//    all free GPUs are of one type they are in one order with the others. Nothing is kept for a gang that does not fit.
// 3. Of the waiting jobs of one GPU the oldest take part: share x waiting, but as many as GPUs are free, at most
//    `jobs_max`. Less than all is fairer to old jobs. Where Hydra has more than `jobs_max`, those that must start
//    earliest to be in time take part, then the oldest without a deadline.
// 4. The plan for them on the free GPUs is made: the least sum of completion times (AlloX), or deadlines first (Hydra;
//    without any deadline among them it is that of AlloX).
// 5. The first job of every GPU's queue starts; the rest of the plan is forgotten.
// Where all free GPUs are of one type, AlloX's plan starts the shortest jobs, which needs no matching.
// Ties: as in the plans. O(waiting) per event on one type, else that of the plan of at most
// `jobs_max` jobs. Source: Le et al., "AlloX" (EuroSys 2020) in the form of Gavel (OSDI 2020); dos-lab/Hydra.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

struct OnlineBatchOptions {
  double share = 1;      // of the waiting jobs that take part
  std::size_t jobs_max;  // that take part in a plan that needs a search
};

std::unique_ptr<Policy> make_online_allox(std::unique_ptr<Placer> placer,
                                          const OnlineBatchOptions& options = {.jobs_max = 1000});
std::unique_ptr<Policy> make_online_hydra(std::unique_ptr<Placer> placer,
                                          const OnlineBatchOptions& options = {.jobs_max = 64});

}  // namespace orrery::schedule
