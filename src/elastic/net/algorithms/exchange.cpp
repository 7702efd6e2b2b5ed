#include "elastic/net/algorithms/exchange.h"

namespace orrery::elastic::net {

void exchange(const Plan& plan, Schedule& schedule) {
  for_each_piece(plan, {0, plan.descriptor.bytes()}, [&](Range piece) {
    schedule.begin_part(piece);
    // Each rank begins with the rank before itself, so that not all send to the same rank first.
    for (int i = 1; i < plan.ranks; ++i) schedule.send((plan.rank + i) % plan.ranks);
    for (int i = 1; i < plan.ranks; ++i) schedule.take((plan.rank + i) % plan.ranks);
    if (plan.ranks > 1) schedule.fold();
  });
}

}  // namespace orrery::elastic::net
