#pragma once
// Dominant resource fairness (NSDI'11), without preemption.
//
// Assumes: gangs; demands of GPUs, and of CPUs and memory where jobs and machines state them.
// 1. A tenant's dominant share is the largest of its shares of the cluster's GPUs, CPUs and memory.
// 2. The tenant with the smallest dominant share goes next, with its earliest waiting job.
// 3. If that job fits it starts; if not, the tenant is passed over until something changes.
// 4. Repeat until no tenant is left whose job fits.
// Ties: the tenant with the lower number, then earlier submission. O(tenants) per start.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

std::unique_ptr<Policy> make_drf(std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
