#pragma once
// What a policy is told when it is called.

#include <span>

#include "schedule/job_time.h"

namespace orrery::schedule {

// Everything that happened at one instant. Jobs that ended have already left their GPUs.
struct Event {
  std::span<const JobIndex> arrived{};  // in order of submission
  std::span<const JobIndex> ended{};
  std::span<const JobIndex> evicted{};  // lost their GPUs to a failure or revocation; waiting again
  bool machines_changed = false;        // one failed, came back, or has another number of GPUs
  // Waiting jobs that are no longer the policy's: cancelled, or started by another component.
  std::span<const JobIndex> withdrawn{};
  // Jobs that ended before the last call and are now gone from the view. What is kept of them can be dropped.
  std::span<const JobIndex> forgotten{};
  // Live jobs of which other work, utilisation or stages are known now.
  std::span<const JobIndex> revised{};
};

}  // namespace orrery::schedule
