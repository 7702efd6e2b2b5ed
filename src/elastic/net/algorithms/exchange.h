#pragma once
// Exchange: every rank sends its whole tensor to all others and combines all of them itself. It is for small tensors,
// because no rank waits twice.
//
// All-reduce of S bytes among n ranks: 1 step, (n−1)·S sent and received per rank. All ranks fold in rank order with
// one rounding, so the bits are those of the collectives on one host.

#include "elastic/net/schedule.h"

namespace orrery::elastic::net {

// All-reduce only.
void exchange(const Plan& plan, Schedule& schedule);

}  // namespace orrery::elastic::net
