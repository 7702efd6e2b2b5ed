#pragma once
// Clique: all ranks send slice j directly to rank j, which combines it and sends the result directly to all. It sends
// the fewest bytes in the fewest steps; it needs a network in which all ranks can send to all at the same time.
//
// All-reduce of S bytes among n ranks: 2 steps, 2·(n−1)/n·S sent and received per rank. Reduce-scatter: the first step,
// (n−1)/n·S. Reduce: the owners send to the root only. All-gather: 1 step, (n−1)·S. Gather: 1 step, S to the root.
// Every fold is in rank order with one rounding, so the bits are those of the collectives on one host.

#include "elastic/net/schedule.h"

namespace orrery::elastic::net {

// All collectives that move tensors; a broadcast is a star.
void clique(const Plan& plan, Schedule& schedule);

}  // namespace orrery::elastic::net
