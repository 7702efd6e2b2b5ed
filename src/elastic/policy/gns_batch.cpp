#include "elastic/policy/gns_batch.h"

#include <algorithm>

namespace orrery::elastic {

Proposal GnsBatch::after_step(const Observation& observation) {
  if (observation.step % options_.every != 0) return {};
  const double wanted = std::min(2 * observation.batch, options_.batch_max);
  const bool is_noisy = observation.noise_scale().value_or(0) > options_.factor * observation.batch;
  if (!is_noisy || wanted <= observation.batch) return {};
  return {{{kBatchValue, wanted}}, {}};
}

}  // namespace orrery::elastic
