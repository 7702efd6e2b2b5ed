#pragma once
// What is agreed takes effect.

#include "elastic/policy/proposal.h"
#include "elastic/worker.h"

namespace orrery::elastic {

// All ranks call it with the same after the same step. Values become parameters after the next one, whoever dies until
// then. The number of workers is a request to the launcher that the first rank tells; if it dies over it, policies
// propose it again.
void apply(const Proposal& agreed, Worker& worker);

}  // namespace orrery::elastic
