#pragma once
// A scheduling policy: it sees a cluster and what just happened, and decides what to do.
//
// A policy never sees a clock, a socket or whether the cluster is real. It may keep state between calls (that makes it
// incremental) and must be told of every event, in order. The same events give the same decisions. The decisions of one
// call are carried out together, before the next event: first all jobs that are told to release GPUs (suspend, stop,
// resize, migrate, unpack) do so, then GPUs are taken, in the order given.
//
// What a policy keeps is in the view or in its saved bytes (state_archive.h): one that is saved between two calls and
// restored in another process makes the same decisions. Without bytes a new policy adopts the jobs of the view.

#include <memory>
#include <string_view>
#include <vector>

#include "schedule/cluster_view.h"
#include "schedule/decision.h"
#include "schedule/event.h"
#include "schedule/state_archive.h"

namespace orrery::schedule {

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

  // Writes or reads what decide() keeps between calls. A policy that was just made reads; wake_at_ns() is then as it was.
  // Since its last call the view may have gone on: the archive knows what the policy knows. What is written belongs to
  // live jobs only, so its size does not grow with the jobs that have ended.
  virtual void exchange(StateArchive& state) = 0;
  // Of what exchange() writes; another number whenever that changes.
  virtual std::uint32_t state_format() const { return 1; }

  // Takes over a cluster in use from the view alone: own_jobs() are known afterwards, as well as they can be. For a
  // policy that was just made, when there are no bytes to restore or they are refused. The policy is then called at
  // once, with an event that has machines_changed and, as withdrawn, the waiting jobs that are not its own.
  virtual void adopt(const ClusterView& view) = 0;
};

}  // namespace orrery::schedule
