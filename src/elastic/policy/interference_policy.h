#pragma once
// Reacts when something else uses the network: first by another topology, then by less traffic.
//
// Assumptions: the interference index and the slowdown (monitor/interference.h) are means over recent steps.
// Procedure, every `every` steps, while the index is above `disturbed` and steps are longer by more than the factor
// `bearable`, because measuring costs time too:
//   1. If the topology is older than `backoff` steps, propose to measure it again, which may find paths around a slow
//      link.
//   2. If it is newer and steps are still longer by the factor `unbearable`, no path is free: propose local steps
//      (models averaged now and then), if the program offers them. Their models differ from those of synchronous steps.
//      This is a high price, which is not worth paying when a slightly slower path exists.
// No worker can tell whether an unused path is free again. So every `retry` local steps the workers measure again and
// return to synchronous steps, which stay if they are no longer disturbed.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

struct InterferenceOptions {
  double disturbed = 1.5;
  double bearable = 1.1, unbearable = 1.25;
  std::uint64_t backoff = 200;  // steps
  std::uint64_t every = 10;     // steps
  std::uint64_t retry = 50;     // steps of the job, each of them a round of several
};

class InterferencePolicy : public Policy {
 public:
  explicit InterferencePolicy(const InterferenceOptions& options) : options_(options) {}
  std::string name() const override { return "interference"; }
  Proposal after_step(const Observation& observation) override;

 private:
  InterferenceOptions options_;
};

}  // namespace orrery::elastic
