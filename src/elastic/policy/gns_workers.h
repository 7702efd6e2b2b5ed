#pragma once
// Grows the number of workers with the gradient noise scale: the policy of the KungFu talk, with a limit.
//
// Assumptions: each worker handles `per_worker` samples per step well, so more workers make a larger batch, which is
// worth it while the noise scale is well above it.
// Procedure:
//   1. The batch follows the workers: `per_worker` samples for each.
//   2. Every `every` steps, if the noise scale is above `factor` times the batch, propose one worker more, at most
//      `workers_max`.
//   3. A request that is not fulfilled (no capacity, no launcher) is repeated as often.

#include "elastic/policy/policy.h"

namespace orrery::elastic {

struct GnsWorkersOptions {
  double per_worker = 16;  // samples
  double workers_max = 8;
  double factor = 1;
  std::uint64_t every = 50;  // steps
};

class GnsWorkers : public Policy {
 public:
  explicit GnsWorkers(const GnsWorkersOptions& options) : options_(options) {}
  std::string name() const override { return "gns-workers"; }
  Proposal after_step(const Observation& observation) override;

 private:
  GnsWorkersOptions options_;
};

}  // namespace orrery::elastic
