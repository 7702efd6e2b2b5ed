#include "elastic/policy/gns_workers.h"

namespace orrery::elastic {

Proposal GnsWorkers::after_step(const Observation& observation) {
  Proposal proposal;
  const double batch = options_.per_worker * observation.workers;
  if (batch != observation.batch) proposal.values[kBatchValue] = batch;
  const bool is_noisy = observation.noise_scale().value_or(0) > options_.factor * batch;
  if (observation.step % options_.every == 0 && is_noisy && observation.workers < options_.workers_max) {
    proposal.values[kWorkersValue] = observation.workers + 1;
  }
  return proposal;
}

}  // namespace orrery::elastic
