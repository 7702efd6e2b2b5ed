#pragma once
// What policies without preemption share: waiting jobs in an order of their own; a job that fits starts, others are
// skipped. O(log n + sizes) per start.

#include <functional>
#include <memory>
#include <string>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

// The key of a job when it begins to wait; smaller goes first, then earlier submission.
using StaticKey = std::function<std::int64_t(const ClusterView& view, JobIndex job)>;

std::unique_ptr<Policy> make_ordered_start(std::string name, StaticKey key, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
