#pragma once
// Ring: each rank communicates with its two neighbours only. Slice j travels around once from rank j+1 to rank j, every
// rank adding its own, and once more as the result: reduce-scatter, then all-gather.
//
// All-reduce of S bytes among n ranks: 2·(n−1) steps, 2·(n−1)/n·S sent and received per rank: the fewest bytes, over
// links that no two pairs share. Reduce-scatter and all-gather are its halves: n−1 steps, (n−1)/n·S and (n−1)·S. Slice
// j is combined in the order j+1, j+2, …, j with a rounding at every rank.

#include "elastic/net/schedule.h"

namespace orrery::elastic::net {

// All-reduce, reduce-scatter, all-gather.
void ring(const Plan& plan, Schedule& schedule);

}  // namespace orrery::elastic::net
