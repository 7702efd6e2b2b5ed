#pragma once
// When something else uses the network: first another way between the workers, then less to send.
//
// Assumptions: the interference index and the slowdown (monitor/interference.h) are means over recent steps. Procedure,
// every `every` steps, while the index is above `disturbed` and steps are longer by more than the factor `bearable`,
// because looking costs time too:
//   1. The topology is older than `backoff` steps: propose to measure it anew, which may find ways around a slow link.
//   2. It is not, and steps are still longer by the factor `unbearable`, so no way is free: propose models that are
//      averaged now and then (local), if the program offers them. Other models than those of synchronous steps are a
//      high price, which a way around that costs a little is not worth.
// Nobody can tell whether a way that nobody uses is free again. So every `retry` steps of averaged models they measure
// anew and go back to synchronous steps, which stay if they are not disturbed any more.

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
