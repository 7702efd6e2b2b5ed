#pragma once
// What policies of elastic jobs share: how decisions follow from the number of GPUs that each job is to have.

#include <span>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

struct Grant {
  JobIndex job = kNoJob;
  int gpus = 0;           // 0: it waits
  std::int32_t type = 0;  // of the devices, where types differ
  Reason reason{};        // of another number of GPUs; a waiting job is told that others come first
};

// The GPUs a job holds (none if it shares those of another), and the type of their devices (0 where types do not
// differ).
int held_gpus(const ClusterView& view, JobIndex job);
std::int32_t held_type(const ClusterView& view, JobIndex job);

// GPUs that are up, by type; all of them as one where types do not differ.
std::vector<int> gpus_by_type(const ClusterView& view);

// Jobs whose number and type are the same keep their GPUs. The others are placed anew, the largest first, in the order
// given. Precondition: grants and the GPUs of all other jobs fit into the cluster; the placer always succeeds.
void carry_out(const ClusterView& view, Placer& placer, std::span<const Grant> grants,
               std::vector<Decision>& decisions);

}  // namespace orrery::schedule
