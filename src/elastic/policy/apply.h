#pragma once
// Lets agreed proposals take effect.

#include "elastic/policy/proposal.h"
#include "elastic/worker.h"

namespace orrery::elastic {

// All ranks call it with the same arguments after the same step. Values become parameters after the next step, even if
// workers die until then. The first rank sends the number of workers as a request to the launcher; if it dies before,
// policies propose it again.
void apply(const Proposal& agreed, Worker& worker);

}  // namespace orrery::elastic
