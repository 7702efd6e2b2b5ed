#include "elastic/net/algorithms/ring.h"

namespace orrery::elastic::net {

void ring(const Plan& plan, Schedule& schedule) {
  const int n = plan.ranks, next = (plan.rank + 1) % n, before = (plan.rank + n - 1) % n;
  const Collective kind = plan.descriptor.collective;
  const bool reducing = reduces(kind);
  for (int owner = 0; owner < n; ++owner) {
    const Range slice = reducing ? owned(plan.descriptor, owner, n) : published(plan.descriptor, owner, n);
    const int behind = (plan.rank - owner + n) % n;  // steps from the owner to us, along the ring
    for_each_piece(plan, slice, [&](Range piece) {
      schedule.begin_part(piece);
      if (n == 1) return;
      if (reducing) {
        if (behind != 1) {
          schedule.take(before);
          schedule.fold();
        }
        if (behind != 0) schedule.send(next);
      }
      if (kind == Collective::kReduceScatter) return;
      if (behind != 0) schedule.copy(before);
      if (behind != n - 1) schedule.send(next);
    });
  }
}

}  // namespace orrery::elastic::net
