#include "schedule/policies/elastic_grants.h"

#include <algorithm>

namespace orrery::schedule {

int held_gpus(const ClusterView& view, JobIndex job) {
  return view.is_running(job) && !view.progress(job).is_guest ? gpus_in(view.progress(job).allocation) : 0;
}

std::int32_t held_type(const ClusterView& view, JobIndex job) {
  if (!view.is_typed() || !view.is_running(job)) return 0;
  const Slice& slice = view.progress(job).allocation.front();
  return view.machines()[slice.machine].device;
}

std::vector<int> gpus_by_type(const ClusterView& view) {
  if (!view.is_typed()) return {view.gpus()};
  std::vector<int> gpus(static_cast<std::size_t>(view.types()));
  for (const MachineView& machine : view.machines()) {
    if (machine.up) gpus[static_cast<std::size_t>(machine.device)] += machine.gpus;
  }
  return gpus;
}

void carry_out(const ClusterView& view, Placer& placer, std::span<const Grant> grants,
               std::vector<Decision>& decisions) {
  FreeGpus free(view);
  std::vector<const Grant*> changed;
  for (const Grant& grant : grants) {
    const int held = held_gpus(view, grant.job);
    if (grant.gpus == held && (held == 0 || grant.type == held_type(view, grant.job))) continue;
    if (held > 0) free.give(view.progress(grant.job).allocation);
    if (grant.gpus > 0) {
      changed.push_back(&grant);
    } else {
      decisions.push_back({.action = Action::kSuspend, .job = grant.job, .reason = {Why::kOvertaken}});
    }
  }
  std::stable_sort(changed.begin(), changed.end(), [](const Grant* a, const Grant* b) { return a->gpus > b->gpus; });
  for (const Grant* grant : changed) {
    FreeGpus there = view.is_typed() ? free.of_type(view, grant->type) : free;
    Allocation allocation = take_gpus(placer, view, there, grant->job, grant->gpus);
    free.take(allocation);
    const int held = held_gpus(view, grant->job);
    const Action action = held == 0 ? Action::kStart : held == grant->gpus ? Action::kMigrate : Action::kResize;
    decisions.push_back(
        {.action = action, .job = grant->job, .allocation = std::move(allocation), .reason = grant->reason});
  }
}

}  // namespace orrery::schedule
