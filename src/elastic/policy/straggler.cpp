#include "elastic/policy/straggler.h"

namespace orrery::elastic {

Proposal Straggler::after_step(const Observation& observation) {
  if (observation.step % options_.every != 0 || !observation.straggler_index) return {};
  const double index = *observation.straggler_index;
  if (observation.strategy == kSynchronousStrategy && index > options_.slow) return {{}, kPairStrategy};
  if (observation.strategy == kPairStrategy && index < options_.even) return {{}, kSynchronousStrategy};
  return {};
}

}  // namespace orrery::elastic
