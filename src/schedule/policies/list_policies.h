#pragma once
// The list policies: jobs in one order that does not depend on the cluster; walk it and run what fits. One per name.
//
// All assume gangs, and that preemption keeps the work done. Those that order by work need predicted run times; a job of
// unknown work comes after all others (kUnknownWork).
//
// Without preemption, jobs that wait are walked; a job that starts runs to its end:
//   fifo       by arrival, strictly: nothing starts before the first job that waits. Jobs that lost their GPUs with a
//              machine were before all waiting ones, and are again.
//   first-fit  by arrival; a job that does not fit is skipped and keeps its place, so that a large one can wait for long
//              behind a stream of small ones. Called "fjf" by the Tiresias simulator.
//   sjf        by predicted work; a job that does not fit is skipped. Ties: earlier submission.
// Preemptive, all unfinished jobs are walked; a running job that does not fit any more is suspended
// (preemptive_order.h, which has the ties):
//   srtf       by remaining time ("shortest" in the Tiresias simulator)
//   srsf       by remaining time x GPUs ("shortest-gpu")
//   edf        by deadline; jobs without one come last. Ties: earlier submission.
//   priority   by decreasing priority. Ties: earlier submission.
// Source of srtf and srsf: SymbioticLab/Tiresias, whose every end time they reproduce.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_fifo(std::unique_ptr<Placer> placer);
std::unique_ptr<Policy> make_first_fit(std::unique_ptr<Placer> placer);
std::unique_ptr<Policy> make_sjf(std::unique_ptr<Placer> placer);
std::unique_ptr<Policy> make_srtf(std::unique_ptr<Placer> placer);
std::unique_ptr<Policy> make_srsf(std::unique_ptr<Placer> placer);
std::unique_ptr<Policy> make_edf(std::unique_ptr<Placer> placer);
std::unique_ptr<Policy> make_priority(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
