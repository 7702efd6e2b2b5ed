#pragma once
// Gives slow workers fewer samples: parts by speed while one lags behind, equal parts again when none does.
//
// Assumptions: the result of a synchronous step does not depend on which worker computes which samples, so only its
// time changes. The straggler index (monitor/step_time.h) is one of times per sample, a mean over recent steps.
// Procedure, every `every` synchronous steps: above `slow` propose uneven parts, below `even` equal ones, in between
// nothing.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

// A parameter of the job: above 0, the parts of workers follow their speed.
inline constexpr const char* kUnevenParameter = "uneven";

struct UnevenOptions {
  double slow = 1.5, even = 1.2;
  std::uint64_t every = 10;  // steps
};

class Uneven : public Policy {
 public:
  explicit Uneven(const UnevenOptions& options) : options_(options) {}
  std::string name() const override { return "uneven"; }
  Proposal after_step(const Observation& observation) override;

 private:
  UnevenOptions options_;
};

}  // namespace orrery::elastic
