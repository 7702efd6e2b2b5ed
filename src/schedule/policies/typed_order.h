#pragma once
// List policies on clusters with several types of devices, of which a job is faster on some than on others.
//
// Assumes: gangs that stay on one type; a speed of every job on every type it runs on (ClusterView::speed_on).
// 1. Jobs are in the order of the rule: arrival, work left, work left x GPUs, deadline, priority, or queue
//    of attained service (executed time x GPUs); with Gittins by the index of that service within a queue. Work is
//    counted on the type it is measured on.
// 2. Without preemption running jobs keep their GPUs. With it, walk all jobs in order, with all GPUs: a running
//    job that still fits on its type stays. Jobs that must not be suspended yet stay anyway.
// 3. Any other job takes the fastest of its types that has enough free GPUs: it starts, or moves there if it ran
//    elsewhere. A job that does not fit is skipped, and suspended if it ran. A strict order stops at the first
//    job that does not fit.
// 4. With queues of attained service, the policy is called again when the next running job reaches the limit of its
//    queue.
// Ties: running before waiting, then earlier submission. Whether a job fits depends on its size and its types only, so
// waiting jobs are kept by these, and checking the first of each is enough: O(running log running + started x kinds)
// per event. Source: fifo_perf of Gavel (OSDI 2020) takes the fastest free type in the same way.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedule/placement/placer.h"
#include "schedule/policies/gittins_ranks.h"
#include "schedule/policy.h"

namespace orrery::schedule {

enum class TypedRule { kArrival, kWork, kService, kDeadline, kPriority, kAttained, kGittins };

struct TypedOptions {
  std::string name;
  TypedRule rule = TypedRule::kArrival;
  bool preemptive = false;
  bool strict = false;                  // no job overtakes one that does not fit
  std::vector<double> limits_gpu_s{};   // of kAttained and kGittins; at most 30
  std::optional<GittinsRanks> ranks{};  // of kGittins
  double round_s = 0;                   // 0: at every event
};

std::unique_ptr<Policy> make_typed_order(const TypedOptions& options, std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
