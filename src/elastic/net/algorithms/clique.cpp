#include "elastic/net/algorithms/clique.h"

namespace orrery::elastic::net {

namespace {

void to_all(const Plan& plan, Schedule& schedule) {
  for (int i = 1; i < plan.ranks; ++i) schedule.send((plan.rank + i) % plan.ranks);
}

// Slice `owner` of a reduction: all ranks send it to its owner, which sends the combination to the ranks that want it.
void reduce_slice(const Plan& plan, int owner, Schedule& schedule) {
  const Collective kind = plan.descriptor.collective;
  const int root = plan.descriptor.root;
  if (plan.rank == owner) {
    for (int i = 1; i < plan.ranks; ++i) schedule.take((plan.rank + i) % plan.ranks);
    if (plan.ranks > 1) schedule.fold();
    if (kind == Collective::kAllReduce) to_all(plan, schedule);
    if (kind == Collective::kReduce && owner != root) schedule.send(root);
    return;
  }
  schedule.send(owner);
  const bool wants = kind == Collective::kAllReduce || (kind == Collective::kReduce && plan.rank == root);
  if (wants) schedule.copy(owner);
}

// Rank `owner` sends what it has to the ranks that want it.
void publish(const Plan& plan, int owner, Schedule& schedule) {
  const bool to_root_only = plan.descriptor.collective == Collective::kGather;
  const int root = plan.descriptor.root;
  if (plan.rank == owner) {
    if (!to_root_only) to_all(plan, schedule);
    if (to_root_only && owner != root) schedule.send(root);
  } else if (!to_root_only || plan.rank == root) {
    schedule.copy(owner);
  }
}

}  // namespace

void clique(const Plan& plan, Schedule& schedule) {
  const bool reducing = reduces(plan.descriptor.collective);
  for (int owner = 0; owner < plan.ranks; ++owner) {
    const Range slice =
        reducing ? owned(plan.descriptor, owner, plan.ranks) : published(plan.descriptor, owner, plan.ranks);
    for_each_piece(plan, slice, [&](Range piece) {
      schedule.begin_part(piece);
      if (reducing) {
        reduce_slice(plan, owner, schedule);
      } else {
        publish(plan, owner, schedule);
      }
    });
  }
}

}  // namespace orrery::elastic::net
