#pragma once
// Exchange: everyone sends its whole tensor to everyone and combines all of them itself. For small tensors: nobody
// waits twice.
//
// All-reduce of S bytes among n ranks: 1 step, (n−1)·S sent and received per rank. All ranks fold in rank order with
// one rounding, so the bits are those of the collectives on one host.

#include "elastic/net/schedule.h"

namespace orrery::elastic::net {

// All-reduce only.
void exchange(const Plan& plan, Schedule& schedule);

}  // namespace orrery::elastic::net
