#pragma once
// Keeps a slow worker from delaying the others: pair averaging while one lags behind, synchronous steps again when none
// does.
//
// Assumptions: the program offers both strategies. The straggler index (monitor/step_time.h) is a mean over recent
// steps.
// Procedure, every `every` steps:
//   1. Synchronous, and the index is above `slow`: propose pair averaging.
//   2. Pair averaging, and the index is below `even`: propose synchronous steps.
// In between it proposes nothing: the two limits are apart so that noise does not change it back and forth.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

struct StragglerOptions {
  double slow = 1.5, even = 1.2;
  std::uint64_t every = 10;  // steps
};

class Straggler : public Policy {
 public:
  explicit Straggler(const StragglerOptions& options) : options_(options) {}
  std::string name() const override { return "straggler"; }
  Proposal after_step(const Observation& observation) override;

 private:
  StragglerOptions options_;
};

}  // namespace orrery::elastic
