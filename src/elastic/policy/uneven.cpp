#include "elastic/policy/uneven.h"

namespace orrery::elastic {

Proposal Uneven::after_step(const Observation& observation) {
  if (observation.step % options_.every != 0 || observation.strategy != kSynchronousStrategy) return {};
  const double index = observation.straggler_index.value_or(1);
  if (!observation.is_uneven && index > options_.slow) return {{{kUnevenParameter, 1}}, {}};
  if (observation.is_uneven && index < options_.even) return {{{kUnevenParameter, 0}}, {}};
  return {};
}

}  // namespace orrery::elastic
