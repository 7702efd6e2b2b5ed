#include "elastic/policy/interference_policy.h"

#include <algorithm>

#include "elastic/job/note.h"

namespace orrery::elastic {

Proposal InterferencePolicy::after_step(const Observation& observation) {
  const bool sends_less = observation.topology > 0 && observation.strategy == kLocalStrategy;
  if (sends_less && observation.topology_age >= options_.retry) {
    return {{{kTopologyParameter, observation.topology + 1}}, kSynchronousStrategy};
  }
  if (observation.step % options_.every != 0 || observation.interference.value_or(1) <= options_.disturbed) return {};
  if (observation.slowdown.value_or(1) <= options_.bearable) return {};
  if (observation.topology == 0 || observation.topology_age > options_.backoff) {
    return {{{kTopologyParameter, observation.topology + 1}}, {}};
  }
  if (observation.slowdown.value_or(1) <= options_.unbearable) return {};
  const auto& offered = observation.strategies;
  const bool can_average = std::find(offered.begin(), offered.end(), kLocalStrategy) != offered.end();
  if (!can_average || observation.strategy == kLocalStrategy) return {};
  return {{}, kLocalStrategy};
}

}  // namespace orrery::elastic
