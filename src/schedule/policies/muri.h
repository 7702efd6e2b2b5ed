#pragma once
// Muri (SIGCOMM'22): the least service first; where GPUs are scarce, up to four jobs run interleaved on the same ones.
//
// Assumes: gangs on one type of GPU; stages of iterations are known from a short profile (interleaving.h defines the
// case that they are not); muri-s knows run times, muri-l does not.
// 1. At a round after a job came, ended or lost GPUs, jobs are in order of the service they still need (time x GPUs, as
//    SRSF: muri-s) or have had (as 2D-LAS: muri-l).
// 2. Jobs are chosen in that order as if all ran in full groups: one for which there are GPUs left takes them, and the
//    next three that ask for as many are chosen with it.
// 3. Those chosen are grouped, if they need more GPUs than there are (muri_groups.h).
// 4. Groups run in the order of their first jobs, each that still fits; then jobs that were not chosen, alone, where
//    GPUs are left.
// 5. A group keeps the GPUs of the running group with which it has most jobs in common; the others of it come there.
//    Groups without such are placed anew, the largest first.
// Groups with a job that must not be suspended yet stay as they are. Ties: earlier submission. O(n log n) per round
// beside the grouping.
// Source: Zhao et al., "Multi-Resource Interleaving for Deep Learning Training" (SIGCOMM 2022), sections 4.2 and 5;
// rounds are six minutes there. There groups are joined when GPUs are scarce even if taking turns would do more work;
// here they are not.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policies/muri_groups.h"
#include "schedule/policy.h"

namespace orrery::schedule {

struct MuriPolicyOptions {
  bool knows_run_times = true;  // muri-s; otherwise muri-l
  double round_s = 360;
  MuriOptions groups{};
};

// The placer must always succeed.
std::unique_ptr<Policy> make_muri(const MuriPolicyOptions& options, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
