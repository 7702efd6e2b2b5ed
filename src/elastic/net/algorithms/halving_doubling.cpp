#include "elastic/net/algorithms/halving_doubling.h"

#include <bit>

namespace orrery::elastic::net {

namespace {

// The part belongs to slice `slice` of `core` (a power of two) ranks, of which we are number `self`.
template <class RankOf>
void swap_halves(int self, int slice, int core, RankOf rank_of, Schedule& schedule) {
  const int distance = self ^ slice;
  for (int bit = core / 2; bit > 0; bit /= 2) {
    if (distance >= 2 * bit) break;  // we have given it away before
    if ((distance & bit) != 0) {
      schedule.send(rank_of(self ^ bit));
    } else {
      schedule.take(rank_of(self ^ bit));
      schedule.fold();
    }
  }
  for (int bit = 1; bit < core; bit *= 2) {
    if (distance < bit) {
      schedule.send(rank_of(self ^ bit));
    } else if (distance < 2 * bit) {
      schedule.copy(rank_of(self ^ bit));
    }
  }
}

}  // namespace

void halving_doubling(const Plan& plan, Schedule& schedule) {
  const int core = static_cast<int>(std::bit_floor(static_cast<unsigned>(plan.ranks)));
  const int pairs = plan.ranks - core;
  const bool in_pair = plan.rank < 2 * pairs;
  const auto rank_of = [&](int number) { return number < pairs ? 2 * number : number + pairs; };
  const int self = in_pair ? plan.rank / 2 : plan.rank - pairs;
  const Descriptor& what = plan.descriptor;
  for (int slice = 0; slice < core; ++slice) {
    for_each_piece(plan, owned(what, slice, core), [&](Range piece) {
      schedule.begin_part(piece);
      if (in_pair && plan.rank % 2 == 1) {
        schedule.send(plan.rank - 1);
        schedule.copy(plan.rank - 1);
        return;
      }
      if (in_pair) {
        schedule.take(plan.rank + 1);
        schedule.fold();
      }
      swap_halves(self, slice, core, rank_of, schedule);
      if (in_pair) schedule.send(plan.rank + 1);
    });
  }
}

}  // namespace orrery::elastic::net
