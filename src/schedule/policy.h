#pragma once
// A scheduling policy: it sees a cluster and what just happened, and decides what to do.
//
// A policy never sees a clock, a socket or whether the cluster is real. It may keep state between calls (that makes it
// incremental) and must be told of every event, in order. The same events give the same decisions. The decisions of one
// call are carried out together, before the next event: first all jobs that are told to release GPUs (suspend, stop,
// resize, migrate, unpack) do so, then GPUs are taken, in the order given.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "schedule/cluster_view.h"
#include "schedule/decision.h"

namespace orrery::schedule {

// Everything that happened at one instant. Jobs that ended have already left their GPUs.
struct Event {
  std::span<const JobIndex> arrived{};  // in order of submission
  std::span<const JobIndex> ended{};
  std::span<const JobIndex> evicted{};  // lost their GPUs to a failure or revocation; waiting again
  bool machines_changed = false;        // one failed, came back, or has another number of GPUs
  // Waiting jobs that are no longer the policy's: cancelled, or started by another component.
  std::span<const JobIndex> withdrawn{};
};

class Policy {
 public:
  virtual ~Policy() = default;

  virtual std::string_view name() const = 0;

  // Appends what to do now to `decisions`.
  virtual void decide(const ClusterView& view, const Event& event, std::vector<Decision>& decisions) = 0;

  // When to be called again even if nothing happens (a time slice ends, a queue is left); kNever: only at events. Asked
  // after every decide().
  virtual TimeNs wake_at_ns() const { return kNever; }

  // The shortest time between two calls; 0: at every event. Policies that reconsider everything work in rounds.
  virtual TimeNs round_ns() const { return 0; }
};

}  // namespace orrery::schedule
