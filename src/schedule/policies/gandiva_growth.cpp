#include "schedule/policies/gandiva_growth.h"

#include <algorithm>

namespace orrery::schedule {

void GandivaGrowth::resize(const ClusterView& view, JobIndex job, int gpus, const Reason& reason, FreeGpus& free,
                           std::vector<Decision>& decisions) {
  const Allocation& held = view.progress(job).allocation;
  const Allocation wanted = {{held.front().machine, gpus}};
  free.give(held);
  free.take(wanted);
  decisions.push_back({.action = Action::kResize, .job = job, .allocation = wanted, .reason = reason});
}

void GandivaGrowth::shrink_all(const ClusterView& view, FreeGpus& free, std::vector<Decision>& decisions,
                               std::vector<JobIndex>& changed) {
  for (const Grown& grown : grown_) {
    resize(view, grown.job, view.facts(grown.job).gpus, {Why::kOvertaken}, free, decisions);
    changed.push_back(grown.job);
  }
  grown_.clear();
  wake_ns_ = kNever;
}

void GandivaGrowth::forget(JobIndex job) {
  std::erase_if(grown_, [&](const Grown& grown) { return grown.job == job; });
}

bool GandivaGrowth::may_grow(const ClusterView& view, JobIndex job) const {
  const JobProgress& progress = view.progress(job);
  if (view.facts(job).gpus_max <= view.facts(job).gpus || !view.is_running(job)) return false;
  if (progress.partner != kNoJob || progress.allocation.size() != 1) return false;
  const auto is_it = [&](const Grown& grown) { return grown.job == job; };
  return std::none_of(grown_.begin(), grown_.end(), is_it) &&
         std::find(not_faster_.begin(), not_faster_.end(), job) == not_faster_.end();
}

void GandivaGrowth::judge(const ClusterView& view, FreeGpus& free, std::vector<Decision>& decisions) {
  std::erase_if(grown_, [&](Grown& grown) {
    if (grown.judged || view.now() < grown.since_ns + after_ns_) return false;
    grown.judged = true;
    const double rate = view.progress(grown.job).rate;
    if (rate > grown.rate_before) return false;
    resize(view, grown.job, view.facts(grown.job).gpus, {Why::kNotFaster, grown.rate_before, rate}, free, decisions);
    not_faster_.push_back(grown.job);
    return true;
  });
}

void GandivaGrowth::exchange(StateArchive& state) {
  std::erase_if(not_faster_, [&](JobIndex job) { return !state.knows(job); });
  state(idle_since_ns_, wake_ns_, grown_, not_faster_);
  for (const Grown& grown : grown_) {
    const bool left = !state.view().is_running(grown.job);  // it has not been told yet
    state.expect(state.runs(grown.job) && (left || state.view().progress(grown.job).allocation.size() == 1),
                 "a job that has grown is elsewhere");
  }
}

void GandivaGrowth::grow(const ClusterView& view, const std::vector<JobIndex>& running, bool others, FreeGpus& free,
                         std::vector<Decision>& decisions) {
  if (idle_since_ns_ == kNever) idle_since_ns_ = view.now();
  judge(view, free, decisions);
  const bool due = view.now() >= idle_since_ns_ + after_ns_;
  wake_ns_ = kNever;
  if (others) wake_ns_ = due ? view.now() + after_ns_ : idle_since_ns_ + after_ns_;
  for (const JobIndex job : running) {
    if (!may_grow(view, job)) continue;
    const MachineIndex server = view.progress(job).allocation.front().machine;
    const int idle = free.on(server), held = view.facts(job).gpus;
    if (idle == 0) continue;
    if (!due) {
      wake_ns_ = idle_since_ns_ + after_ns_;
      break;
    }
    grown_.push_back({job, view.progress(job).rate, view.now()});
    resize(view, job, std::min(held + idle, view.facts(job).gpus_max), {Why::kIdleGpus, static_cast<double>(idle)},
           free, decisions);
  }
  for (const Grown& grown : grown_) {
    if (!grown.judged) wake_ns_ = std::min(wake_ns_, grown.since_ns + after_ns_);
  }
}

}  // namespace orrery::schedule
