#pragma once
// What policies without preemption share: waiting jobs in an order of their own; a job that fits starts, others are
// skipped. O(log n + kinds) per start. On a cluster with several types of devices the placer chooses the type.

#include <functional>
#include <memory>
#include <string>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"
#include "schedule/size_heaps.h"

namespace orrery::schedule {

// The key of a job when it begins to wait; smaller goes first, then earlier submission.
using StaticKey = std::function<std::int64_t(const ClusterView& view, JobIndex job)>;

std::unique_ptr<Policy> make_ordered_start(std::string name, StaticKey key, std::unique_ptr<Placer> placer);

// Walks `waiting` in order. A job for which the placer finds GPUs leaves it and starts; the value of its key is the
// reason, in nanoseconds. `free` is assigned.
void start_what_fits(const ClusterView& view, Placer& placer, SizeHeaps& waiting, FreeGpus& free,
                     std::vector<Decision>& decisions);

}  // namespace orrery::schedule
