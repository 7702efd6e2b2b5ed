#include "schedule/policies/order_walk.h"

namespace orrery::schedule {

void OrderWalk::begin(const ClusterView& view) {
  view_ = &view;
  stopping_.clear();
  taking_.clear();
  free_.assign(view);
  if (!view.is_typed()) {
    rooms_.assign(1, view.gpus());
    return;
  }
  rooms_.assign(static_cast<std::size_t>(view.types()), 0);
  for (const MachineView& machine : view.machines()) room(machine.device) += machine.up ? machine.gpus : 0;
}

std::int32_t OrderWalk::fastest_type(JobIndex job) {
  const int gpus = view_->facts(job).gpus;
  std::int32_t fastest = -1;
  for (std::int32_t type = 0; type < view_->types(); ++type) {
    const double speed = view_->speed_on(job, type);
    if (speed > 0 && room(type) >= gpus && (fastest < 0 || speed > view_->speed_on(job, fastest))) fastest = type;
  }
  return fastest;
}

OrderWalk::Verdict OrderWalk::visit_types(JobIndex job) {
  const int gpus = view_->facts(job).gpus;
  const bool runs = view_->is_running(job);
  if (runs) {
    int& here = room(view_->type_under(job));
    if (here >= gpus) {
      here -= gpus;
      return Verdict::kStays;
    }
  }
  const std::int32_t type = fastest_type(job);
  if (type < 0) {
    if (runs) stopping_.push_back(job);
    return runs ? Verdict::kStops : Verdict::kWaits;
  }
  room(type) -= gpus;
  taking_.push_back({job, type});
  return runs ? Verdict::kMoves : Verdict::kStarts;
}

void OrderWalk::suspend(std::vector<Decision>& decisions) {
  for (const JobIndex job : stopping_) {
    free_.give(view_->progress(job).allocation);
    decisions.push_back({.action = Action::kSuspend, .job = job, .reason = {Why::kOvertaken}});
  }
  for (const Taking& taking : taking_) {
    if (view_->is_running(taking.job)) free_.give(view_->progress(taking.job).allocation);
  }
}

Allocation OrderWalk::place(Placer& placer, const Taking& taking) {
  const int gpus = view_->facts(taking.job).gpus;
  if (!view_->is_typed()) return take_gpus(placer, *view_, free_, taking.job, gpus);
  FreeGpus of_type = free_.of_type(*view_, taking.type);
  Allocation allocation = take_gpus(placer, *view_, of_type, taking.job, gpus);
  free_.take(allocation);
  return allocation;
}

}  // namespace orrery::schedule
