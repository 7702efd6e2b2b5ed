#include "schedule/reconciler.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/check.h"

namespace orrery::schedule {

std::string_view to_string(Effect::Kind kind) {
  switch (kind) {
    case Effect::Kind::kStart:
      return "start";
    case Effect::Kind::kStop:
      return "stop";
    case Effect::Kind::kMove:
      return "move";
    case Effect::Kind::kSetBatch:
      return "set batch";
  }
  return "";
}

namespace {

int gpus_on(const Allocation& allocation, MachineIndex machine) {
  for (const Slice& slice : allocation) {
    if (slice.machine == machine) return slice.gpus;
  }
  return 0;
}

// What `wanted` takes beyond `held`.
Allocation beyond(const Allocation& wanted, const Allocation& held) {
  Allocation more;
  for (const Slice& slice : wanted) {
    const int gpus = slice.gpus - gpus_on(held, slice.machine);
    if (gpus > 0) more.push_back({slice.machine, gpus});
  }
  return more;
}

}  // namespace

Reconciler::Reconciler(Dispatcher& dispatcher, const ReconcilerOptions& options)
    : dispatcher_(dispatcher), options_(options) {
  for (const MachineView& machine : dispatcher.view().machines()) {
    gpus_.push_back(machine.gpus);
    free_.push_back(machine.gpus);
    is_down_.push_back(false);
    out_of_view_.push_back(0);
  }
}

// --- What happened.

void Reconciler::job_ended(JobIndex job) {
  dispatcher_.end(job);
  take_changes();
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  Actual& actual = found->second;
  if (actual.effect != 0) under_way_.erase(actual.effect);
  actual.effect = 0;
  actual.failures = 0;
  stopped(job, actual);
  forget_if_idle(job);
}

void Reconciler::machine_failed(MachineIndex machine) {
  if (is_down_[machine]) return;
  is_down_[machine] = true;
  if (out_of_view_[machine] == 0) dispatcher_.fail_machine(machine);
  take_changes();
  // What jobs held there is gone; what they hold elsewhere has to be stopped.
  for (auto& [job, actual] : jobs_) {
    const bool there = gpus_on(actual.allocation, machine) > 0 || gpus_on(actual.next_allocation, machine) > 0;
    if (!there) continue;
    actual.is_broken = true;
    unsettled_.insert(job);
  }
}

void Reconciler::machine_returned(MachineIndex machine) {
  if (!is_down_[machine]) return;
  is_down_[machine] = false;
  if (out_of_view_[machine] == 0) dispatcher_.restore_machine(machine);
}

void Reconciler::forget(JobIndex job) {
  if (!jobs_.contains(job)) return dispatcher_.forget(job);
  to_forget_.insert(job);
  unsettled_.insert(job);
}

void Reconciler::answered(EffectNumber number, std::string error) {
  const auto found = under_way_.find(number);
  if (found == under_way_.end()) return;  // it was answered before, or another effect has taken its place
  const JobIndex job = found->second;
  under_way_.erase(found);
  Actual& actual = jobs_.at(job);
  actual.effect = 0;
  unsettled_.insert(job);
  const bool is_done = error.empty();
  switch (actual.kind) {
    case Effect::Kind::kStop:
      if (is_done) {
        stopped(job, actual);
      } else {
        take_out(actual);
        actual.is_broken = true;
        actual.retry_at_ns = dispatcher_.view().now() + options_.retry_ns;
      }
      break;
    case Effect::Kind::kSetBatch:
      if (is_done) {
        actual.batch_factor = actual.next_batch_factor;
      } else if (dispatcher_.view().is_running(job)) {
        dispatcher_.ledger().set_batch_factor(job, actual.batch_factor);
      }
      break;
    case Effect::Kind::kStart:
    case Effect::Kind::kMove: {
      const bool was_move = actual.kind == Effect::Kind::kMove;
      if (!is_done) {
        failed(job, actual, was_move, std::move(error));
        break;
      }
      if (was_move) {
        release(actual.hold);
        release(actual.next);
        actual.hold = take(actual.next_allocation, actual.next_gpu_set);
      } else {
        actual.hold = std::exchange(actual.next, kNoHold);
      }
      actual.allocation = std::exchange(actual.next_allocation, {});
      actual.batch_factor = actual.next_batch_factor;
      actual.failures = 0;
      break;
    }
  }
  if (actual.hold != kNoHold && !actual.is_broken && is_as_desired(job, actual) &&
      dispatcher_.view().progress(job).is_starting) {
    dispatcher_.started(job);
  }
  forget_if_idle(job);
}

void Reconciler::stopped(JobIndex job, Actual& actual) {
  release(actual.hold);
  release(actual.next);
  actual.stops_since_ns = kNever;
  actual.allocation.clear();
  actual.next_allocation.clear();
  actual.is_broken = false;
  put_back(actual);
  unsettled_.insert(job);
}

void Reconciler::failed(JobIndex job, Actual& actual, bool was_move, std::string error) {
  const Allocation tried = actual.next_allocation;
  stopped(job, actual);
  ++actual.failures;
  if (dispatcher_.view().progress(job).allocation == tried) {
    const Reason reason = {was_move ? Why::kMoveFailed : Why::kStartFailed, static_cast<double>(actual.failures)};
    dispatcher_.evict(job, reason, std::move(error));
  }
  if (options_.failures_max > 0 && actual.failures >= options_.failures_max) {
    dispatcher_.fail(job, {Why::kGivenUp, static_cast<double>(actual.failures)});
  }
  take_changes();
}

// --- What to do.

void Reconciler::take_changes() {
  for (const Change& change : dispatcher_.changes()) unsettled_.insert(change.job);
  dispatcher_.clear_changes();
}

bool Reconciler::is_as_desired(JobIndex job, const Actual& actual) const {
  const ClusterView& view = dispatcher_.view();
  if (!view.is_running(job)) return actual.hold == kNoHold;
  return actual.hold != kNoHold && actual.allocation == view.progress(job).allocation;
}

bool Reconciler::is_leaving(const Actual& actual) const {
  return actual.effect != 0 && (actual.kind == Effect::Kind::kStop || actual.kind == Effect::Kind::kMove);
}

std::vector<Effect> Reconciler::effects() {
  take_changes();
  expire();
  std::vector<Effect> sent;
  // Jobs that leave come first, so that what they hold counts as leaving.
  for (const bool only_stops : {true, false}) {
    for (auto next = unsettled_.begin(); next != unsettled_.end();) {
      const JobIndex job = *next;
      ++next;
      if (settle(job, only_stops, sent)) unsettled_.erase(job);
    }
  }
  return sent;
}

// Sends the effect that is next for a job, if there is one and it can be sent. Whether nothing is left to do before the
// job changes again or an effect on it is answered.
bool Reconciler::settle(JobIndex job, bool only_stops, std::vector<Effect>& effects) {
  const ClusterView& view = dispatcher_.view();
  const bool is_wanted = view.is_running(job);
  const auto found = jobs_.find(job);
  if (found == jobs_.end() && !is_wanted) return true;
  if (found != jobs_.end() && found->second.effect != 0) return true;
  Actual& a = actual(job);
  const bool runs = a.hold != kNoHold;
  if (a.is_broken || (runs && !is_wanted)) {
    if (view.now() < a.retry_at_ns) return false;
    send(job, {.kind = Effect::Kind::kStop}, effects);
    return true;
  }
  if (only_stops) return false;
  if (!is_wanted) {
    forget_if_idle(job);
    return true;
  }
  if (!is_as_desired(job, a)) return start_or_move(job, a, effects);
  // Suspended and started again before that was sent: it has worked on.
  if (view.progress(job).is_starting) dispatcher_.started(job);
  const float factor = view.progress(job).batch_factor;
  if (factor != a.batch_factor) {
    a.next_batch_factor = factor;
    send(job, {.kind = Effect::Kind::kSetBatch, .batch_factor = factor}, effects);
  }
  return true;
}

bool Reconciler::start_or_move(JobIndex job, Actual& a, std::vector<Effect>& effects) {
  const JobProgress& p = dispatcher_.view().progress(job);
  a.next_batch_factor = p.batch_factor;
  if (a.hold == kNoHold) {
    const JobIndex host = host_of(job);
    if (host != kNoJob) {
      const HoldNumber there = actual(host).hold;
      if (actual(host).next != kNoHold || !may_join(job, there)) return false;
      a.next = there;
      ++hold(there).jobs;
    } else {
      if (!has_room(p.allocation)) return false;
      a.next = take(p.allocation, ++gpu_sets_);
    }
    a.next_allocation = p.allocation;
    send(job,
         {.kind = Effect::Kind::kStart,
          .allocation = p.allocation,
          .gpu_set = hold(a.next).gpu_set,
          .batch_factor = p.batch_factor},
         effects);
    return true;
  }
  const bool is_alone = hold(a.hold).jobs == 1;
  const Allocation more = is_alone ? beyond(p.allocation, a.allocation) : p.allocation;
  if (has_room(more)) {
    a.next = take(more, 0);
    a.next_allocation = p.allocation;
    a.next_gpu_set = ++gpu_sets_;
    send(job,
         {.kind = Effect::Kind::kMove,
          .allocation = p.allocation,
          .gpu_set = a.next_gpu_set,
          .batch_factor = p.batch_factor},
         effects);
    return true;
  }
  if (will_have_room(more)) return false;
  send(job, {.kind = Effect::Kind::kStop}, effects);
  return true;
}

void Reconciler::send(JobIndex job, Effect effect, std::vector<Effect>& effects) {
  Actual& a = actual(job);
  effect.number = ++last_;
  effect.job = job;
  a.effect = effect.number;
  a.kind = effect.kind;
  a.sent_ns = dispatcher_.view().now();
  if (effect.kind == Effect::Kind::kStop && a.stops_since_ns == kNever) a.stops_since_ns = a.sent_ns;
  under_way_.emplace(effect.number, job);
  effects.push_back(std::move(effect));
}

// What is not answered in time.
void Reconciler::expire() {
  const TimeNs now = dispatcher_.view().now();
  std::vector<JobIndex> late;
  for (const auto& [number, job] : under_way_) {
    if (now - jobs_.at(job).sent_ns >= options_.answer_timeout_ns) late.push_back(job);
  }
  for (const JobIndex job : late) {
    Actual& a = actual(job);
    under_way_.erase(a.effect);
    a.effect = 0;
    unsettled_.insert(job);
    switch (a.kind) {
      case Effect::Kind::kStop:
        take_out(a);
        a.is_broken = true;  // whatever is desired by now, it is stopped again
        break;
      case Effect::Kind::kSetBatch:
        break;  // sent again
      case Effect::Kind::kStart:
      case Effect::Kind::kMove: {
        // It may hold all of it. Only a stop tells.
        a.is_broken = true;
        const Allocation& tried = a.next_allocation;
        const Why why = a.kind == Effect::Kind::kMove ? Why::kMoveFailed : Why::kStartFailed;
        if (dispatcher_.view().progress(job).allocation == tried) {
          dispatcher_.evict(job, {why, static_cast<double>(++a.failures)}, "no answer");
        }
        break;
      }
    }
  }
  take_changes();
}

void Reconciler::take_out(Actual& a) {
  if (!a.taken_out.empty() || dispatcher_.view().now() - a.stops_since_ns < options_.answer_timeout_ns) return;
  for (const Allocation* held : {&a.allocation, &a.next_allocation}) {
    for (const Slice& slice : *held) {
      if (std::find(a.taken_out.begin(), a.taken_out.end(), slice.machine) != a.taken_out.end()) continue;
      a.taken_out.push_back(slice.machine);
      if (++out_of_view_[slice.machine] == 1 && !is_down_[slice.machine]) dispatcher_.fail_machine(slice.machine);
    }
  }
}

void Reconciler::put_back(Actual& a) {
  for (const MachineIndex machine : a.taken_out) {
    if (--out_of_view_[machine] == 0 && !is_down_[machine]) dispatcher_.restore_machine(machine);
  }
  a.taken_out.clear();
}

TimeNs Reconciler::due_ns() const {
  TimeNs due = kNever;
  for (const auto& [number, job] : under_way_) due = std::min(due, jobs_.at(job).sent_ns + options_.answer_timeout_ns);
  const TimeNs now = dispatcher_.view().now();
  for (const JobIndex job : unsettled_) {
    const auto found = jobs_.find(job);
    if (found != jobs_.end() && found->second.retry_at_ns > now) due = std::min(due, found->second.retry_at_ns);
  }
  return due;
}

// --- Holds.

JobIndex Reconciler::host_of(JobIndex job) const {
  const ClusterView& view = dispatcher_.view();
  const Allocation& wanted = view.progress(job).allocation;
  JobIndex next_host = kNoJob;
  for (JobIndex other = view.progress(job).partner; other != kNoJob && other != job;
       other = view.progress(other).partner) {
    const auto found = jobs_.find(other);
    if (found == jobs_.end() || found->second.is_broken) continue;
    const Actual& a = found->second;
    if (a.hold != kNoHold && a.allocation == wanted && !is_leaving(a)) return other;
    if (a.next != kNoHold && a.next_allocation == wanted) next_host = other;
  }
  return next_host;
}

bool Reconciler::may_join(JobIndex job, HoldNumber hold) const {
  const std::vector<JobIndex> group = dispatcher_.view().group_of(job);
  return std::all_of(jobs_.begin(), jobs_.end(), [&](const auto& other) {
    const bool is_there = other.second.hold == hold || other.second.next == hold;
    return !is_there || std::find(group.begin(), group.end(), other.first) != group.end();
  });
}

int Reconciler::actually_free(MachineIndex machine) const {
  return is_down_[machine] ? 0 : free_[machine];
}

bool Reconciler::has_room(const Allocation& wanted) const {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const Slice& slice) { return slice.gpus <= actually_free(slice.machine); });
}

bool Reconciler::will_have_room(const Allocation& wanted) const {
  return std::all_of(wanted.begin(), wanted.end(), [&](const Slice& slice) {
    int gpus = actually_free(slice.machine);
    std::set<HoldNumber> counted;
    for (const auto& [job, a] : jobs_) {
      if (!is_leaving(a) || a.hold == kNoHold || !counted.insert(a.hold).second) continue;
      if (holds_[static_cast<std::size_t>(a.hold)].jobs == 1) gpus += gpus_on(a.allocation, slice.machine);
    }
    return slice.gpus <= gpus;
  });
}

Reconciler::HoldNumber Reconciler::take(Allocation allocation, std::int64_t gpu_set) {
  for (const Slice& slice : allocation) {
    free_[slice.machine] -= slice.gpus;
    ORRERY_CHECK(free_[slice.machine] >= 0);
  }
  if (unused_.empty()) {
    unused_.push_back(static_cast<HoldNumber>(holds_.size()));
    holds_.emplace_back();
  }
  const HoldNumber number = unused_.back();
  unused_.pop_back();
  hold(number) = {std::move(allocation), 1, gpu_set};
  return number;
}

void Reconciler::release(HoldNumber& number) {
  if (number == kNoHold) return;
  Hold& left = hold(number);
  if (--left.jobs == 0) {
    for (const Slice& slice : left.allocation) free_[slice.machine] += slice.gpus;
    left.allocation.clear();
    unused_.push_back(number);
  }
  number = kNoHold;
}

void Reconciler::forget_if_idle(JobIndex job) {
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return;
  const Actual& a = found->second;
  const bool has_ended = dispatcher_.view().progress(job).state == JobState::kEnded;
  if (a.hold == kNoHold && a.next == kNoHold && a.effect == 0 && !a.is_broken && (a.failures == 0 || has_ended)) {
    jobs_.erase(found);
    if (to_forget_.erase(job) > 0) dispatcher_.forget(job);
  }
}

Status Reconciler::check_invariants() const {
  IndexedVector<MachineIndex, int> held(gpus_.size(), 0);
  std::vector<int> users(holds_.size(), 0);
  for (const auto& [job, a] : jobs_) {
    for (const HoldNumber hold : {a.hold, a.next}) {
      if (hold != kNoHold) ++users[static_cast<std::size_t>(hold)];
    }
    if (a.effect != 0 && !under_way_.contains(a.effect)) {
      return Error::internal(fmt::format("job {}: its effect {} is not under way", job, a.effect));
    }
  }
  for (std::size_t i = 0; i < holds_.size(); ++i) {
    if (users[i] != holds_[i].jobs) {
      return Error::internal(fmt::format("hold {}: {} jobs, counted {}", i, users[i], holds_[i].jobs));
    }
    for (const Slice& slice : holds_[i].allocation) held[slice.machine] += slice.gpus;
  }
  for (const MachineIndex m : gpus_.indices()) {
    if (held[m] + free_[m] != gpus_[m] || free_[m] < 0) {
      return Error::internal(fmt::format("machine {}: {} GPUs held and {} free of {}", m, held[m], free_[m], gpus_[m]));
    }
  }
  return {};
}

}  // namespace orrery::schedule
