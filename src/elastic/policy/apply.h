#pragma once
// What is agreed takes effect.

#include "elastic/policy/proposal.h"
#include "elastic/worker.h"

namespace orrery::elastic {

// All ranks call it with the same; the first one acts for them. Values become parameters of the next view, the number
// of workers a wish to the launcher. If the first one dies over it, policies propose it again.
void apply(const Proposal& agreed, Worker& worker);

}  // namespace orrery::elastic
