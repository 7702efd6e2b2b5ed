#include "schedule/dispatcher.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

// Private functions are inline, so that a step is compiled as one function: it is taken millions of times.

namespace orrery::schedule {

namespace {

bool is_in(const std::vector<JobIndex>& jobs, JobIndex job) {
  return std::find(jobs.begin(), jobs.end(), job) != jobs.end();
}

}  // namespace

Dispatcher::Dispatcher(const Machines& machines, DispatchOptions options)
    : options_(std::move(options)), ledger_(machines), aged_(ledger_), round_ns_(options_.round_ns) {
  ledger_.set_speeds(options_.speeds);
  ledger_.set_min_run(options_.min_run_ns);
  capacities_.resize(static_cast<std::size_t>(ledger_.types()));
  for (const MachineView& machine : machines) {
    machine_gpus_.push_back(machine.gpus);
    capacities_[static_cast<std::size_t>(machine.device)] += machine.gpus;
    capacity_ += machine.gpus;
  }
}

Status Dispatcher::set_policy(const PolicyMaker& make) {
  make_policy_ = make;
  ORRERY_TRY(policy_, make(ledger_));
  if (round_ns_ == 0) round_ns_ = policy_->round_ns();
  return {};
}

// --- What happened.

Admission Dispatcher::submit(JobFacts known, TimeNs first_start_ns) {
  const JobIndex job = ledger_.add(std::move(known));
  const JobFacts& facts = ledger_.facts(job);
  ++events_;
  if (first_start_ns > 0) {
    ledger_.cover(first_starts_);
    first_starts_[job] = first_start_ns;
  }
  const bool beyond_quota = options_.tenant_quota > 0 && facts.gpus > options_.tenant_quota;
  const int capacity = ledger_.is_typed() ? capacity_for(job, false) : capacity_;
  if (facts.gpus > capacity || beyond_quota) return Admission::kTooLarge;
  if (options_.tenant_quota == 0) {
    admit(job);
    return Admission::kAdmitted;
  }
  const auto tenant = static_cast<std::size_t>(facts.tenant);
  if (tenant >= quotas_.size()) quotas_.resize(tenant + 1);
  quotas_[tenant].held.push_back(job);
  admit_within(quotas_[tenant]);
  return ledger_.progress(job).state == JobState::kUnknown ? Admission::kHeld : Admission::kAdmitted;
}

inline void Dispatcher::admit(JobIndex job) {
  ++active_;
  ledger_.admit(job);
  event_arrived_.push_back(job);
  if (options_.age_ns > 0) ages_.set(job, ledger_.now() + options_.age_ns);
}

inline Dispatcher::Quota& Dispatcher::quota_of(JobIndex job) {
  return quotas_[static_cast<std::size_t>(ledger_.facts(job).tenant)];
}

void Dispatcher::admit_within(Quota& quota) {
  while (!quota.held.empty()) {
    const int gpus = ledger_.facts(quota.held.front()).gpus;
    if (quota.gpus + gpus > options_.tenant_quota) return;
    quota.gpus += gpus;
    admit(quota.held.front());
    quota.held.pop_front();
  }
}

inline void Dispatcher::leave_quota(JobIndex job) {
  if (options_.tenant_quota == 0) return;
  Quota& quota = quota_of(job);
  quota.gpus -= ledger_.facts(job).gpus;
  admit_within(quota);
}

void Dispatcher::end(JobIndex job) {
  const JobProgress& p = ledger_.progress(job);
  ++events_;
  if (p.state != JobState::kRunning) return cancel(job);
  const bool withheld = p.is_withheld;
  const JobIndex partner = p.partner;
  if (!event_revised_.empty()) std::erase(event_revised_, job);
  ledger_.end(job);
  changed(Change::Kind::kReleased, job);
  // The policy does not know jobs that aged, but their GPUs are its own again.
  machines_changed_ = machines_changed_ || withheld;
  if (!withheld) event_ended_.push_back(job);
  --running_;
  --active_;
  leave_quota(job);
  if (partner != kNoJob) changed_group(partner);
}

void Dispatcher::cancel(JobIndex job) {
  const JobState state = ledger_.progress(job).state;
  if (state == JobState::kEnded) return;
  if (state == JobState::kRunning) return end(job);
  if (state == JobState::kUnknown) {
    // Held by the quota of its tenant, whose next job may be within it; or refused.
    ledger_.end(job);
    for (Quota& quota : quotas_) {
      if (std::erase(quota.held, job) > 0) admit_within(quota);
    }
    return;
  }
  ledger_.end(job);
  std::erase(event_revised_, job);
  if (options_.age_ns > 0) ages_.remove(job);
  --active_;
  leave_quota(job);
  if (aged_.remove(job)) {
    machines_changed_ = true;
    return;
  }
  // A policy that has not been told of it yet never is; one that takes it for a running job is told that it ended.
  if (std::erase(event_arrived_, job) > 0) return;
  (std::erase(event_evicted_, job) > 0 ? event_ended_ : event_withdrawn_).push_back(job);
}

void Dispatcher::fail_machine(MachineIndex machine, bool is_announced) {
  ++events_;
  if (ledger_.machines()[machine].up) {
    for (const JobIndex job : ledger_.known_jobs()) {
      const Allocation& held = ledger_.progress(job).allocation;
      const bool there = std::any_of(held.begin(), held.end(), [&](const Slice& s) { return s.machine == machine; });
      if (there) lose(job, {Why::kMachineFailed, static_cast<double>(machine.value())}, is_announced, {});
    }
    aged_.lose(machine);
  }
  ledger_.set_machine_up(machine, false);
  machines_changed_ = true;
}

void Dispatcher::restore_machine(MachineIndex machine) {
  ++events_;
  ledger_.set_machine_up(machine, true);
  machines_changed_ = true;
}

void Dispatcher::evict(JobIndex job, const Reason& reason, std::string error) {
  if (!ledger_.is_running(job)) return;
  ++events_;
  lose(job, reason, false, std::move(error));
}

void Dispatcher::fail(JobIndex job, const Reason& reason) {
  if (options_.keep_log) log_.push_back({ledger_.now(), {.action = Action::kStop, .job = job, .reason = reason}});
  cancel(job);
}

void Dispatcher::revise(JobIndex job, const JobFacts& known) {
  ledger_.revise(job, known);
  // The policy does not know jobs that aged, and sees the facts of a new one when it is told of it.
  const bool is_known = is_live(ledger_, job) && !ledger_.progress(job).is_withheld && !aged_.has(job);
  if (!is_known || is_in(event_arrived_, job) || is_in(event_revised_, job)) return;
  event_revised_.push_back(job);
  ++events_;
}

void Dispatcher::forget(JobIndex job) {
  ORRERY_CHECK(ledger_.progress(job).state == JobState::kEnded);
  event_forgotten_.push_back(job);
}

void Dispatcher::started(JobIndex job) {
  ledger_.begin_work(job);
  if (options_.min_run_ns > 0) protected_.push_back(ledger_.now() + options_.min_run_ns);
}

// A running job loses its GPUs by a fault, and waits again.
void Dispatcher::lose(JobIndex job, const Reason& reason, bool is_announced, std::string error) {
  const bool withheld = ledger_.progress(job).is_withheld;
  Allocation lost;
  if (options_.keep_log) lost = ledger_.progress(job).allocation;
  release(job, false, true);
  const TimeNs every = options_.costs.checkpoint_ns, done = ledger_.progress(job).done_ns;
  if (every > 0 && !is_announced) ledger_.lose_work(job, done / every * every);
  if (options_.keep_log) {
    Reason with_loss = reason;
    with_loss.b = to_seconds(done - ledger_.progress(job).done_ns);
    log_.push_back({ledger_.now(),
                    {.action = Action::kEvict, .job = job, .allocation = std::move(lost), .reason = with_loss},
                    std::move(error)});
  }
  if (withheld) {
    ages_.remove(job);
    aged_.add_first(job);
  } else {
    event_evicted_.push_back(job);
  }
}

// --- The step.

TimeNs Dispatcher::due_ns(bool expects_jobs) {
  const TimeNs now = ledger_.now();
  TimeNs next = ages_.empty() ? kNever : ages_.at_ns();
  if (options_.min_run_ns > 0) {
    // The minimum run time of a job is over, and others wait.
    while (!protected_.empty() && protected_.front() <= now) protected_.pop_front();
    if (!protected_.empty() && active_ > running_) next = std::min(next, protected_.front());
  }
  if (round_ns_ > 0) {
    promised_round_ns_ = kNever;
    // A job runs, waits or just ended: the next round can change something.
    if (running_ > 0 || events_pending() || (active_ > 0 && !stalled_)) {
      promised_round_ns_ = (now / round_ns_ + 1) * round_ns_;
      next = std::min(next, promised_round_ns_);
    }
  } else if (expects_jobs || active_ > 0) {
    // Without a change since then, a policy that wakes up in the past would be called for ever.
    const TimeNs wake = policy_->wake_at_ns();
    if (wake != kNever && !stalled_) next = std::min(next, std::max(wake, now));
  }
  // It has not been told of what happened after the last step, such as a start that failed.
  if (round_ns_ == 0 && events_pending()) next = now;
  return std::min(next, retry_ns_);
}

Result<bool> Dispatcher::step() {
  if (options_.age_ns > 0) serve_aged();
  const TimeNs now = ledger_.now();
  if (round_ns_ > 0 && now % round_ns_ != 0 && now < promised_round_ns_ && now < retry_ns_) return false;
  retry_ns_ = kNever;
  ORRERY_TRY_VOID(ask());
  if (std::exchange(was_refused_, false)) {
    // What it keeps does not agree with the view.
    constexpr TimeNs kRetry = kSecondNs;
    ORRERY_TRY_VOID(adopt());
    retry_ns_ = now + kRetry;
  }
  return true;
}

// Jobs that waited too long leave the policy; GPUs that are free go to them first.
void Dispatcher::serve_aged() {
  while (!ages_.empty() && ages_.at_ns() <= ledger_.now()) {
    const JobIndex job = ages_.job();
    if (is_in(event_arrived_, job) || is_in(event_evicted_, job)) {
      // The policy has not been told of it yet (it works in rounds): it counts from then on.
      ages_.set(job, ledger_.now() + options_.age_ns);
      continue;
    }
    ages_.remove(job);
    aged_.add(job);
    std::erase(event_revised_, job);
    event_withdrawn_.push_back(job);
    ++events_;
  }
  const int before = ledger_.gpus();
  while (const auto ready = aged_.next()) {
    const JobProgress& p = ledger_.progress(ready->job);
    const TimeNs since = p.starts == 0 ? ledger_.facts(ready->job).submit_ns : p.since_ns;
    const double waited = to_seconds(ledger_.now() - since);
    record({.job = ready->job, .allocation = ready->allocation, .reason = {Why::kAged, waited}});
    ledger_.start_withheld(ready->job, ready->allocation, 0, resumes_of(ready->job));
    begin(ready->job);
  }
  machines_changed_ = machines_changed_ || ledger_.gpus() != before;
}

inline TimeNs Dispatcher::resumes_of(JobIndex job) const {
  const Costs& costs = options_.costs;
  if (ledger_.progress(job).starts > 0) return ledger_.now() + costs.resume_ns;
  const bool costs_more = job < first_starts_.end();
  return ledger_.now() + costs.first_start_ns + (costs_more ? first_starts_[job] : 0);
}

// A job has got GPUs.
inline void Dispatcher::begin(JobIndex job, JobIndex beside) {
  ++running_;
  if (options_.age_ns > 0) ages_.remove(job);
  if (options_.awaits_starts) {
    ledger_.await_start(job);
  } else if (options_.min_run_ns > 0) {
    protected_.push_back(ledger_.now() + options_.min_run_ns);
  }
  changes_.push_back({.kind = Change::Kind::kStarted, .job = job, .beside = beside});
}

inline void Dispatcher::release(JobIndex job, bool is_move, bool by_fault) {
  const JobIndex partner = ledger_.progress(job).partner;
  ledger_.suspend(job);
  --running_;
  if (options_.age_ns > 0) ages_.set(job, ledger_.now() + options_.age_ns);
  changes_.push_back({.kind = Change::Kind::kReleased, .is_move = is_move, .by_fault = by_fault, .job = job});
  if (partner != kNoJob) changed_group(partner);
}

// The job and those that share its GPUs, after one has come or left.
void Dispatcher::changed_group(JobIndex job) {
  changed(Change::Kind::kSpeed, job);
  changed_others(job);
}

void Dispatcher::changed_others(JobIndex job) {
  const JobIndex next = ledger_.progress(job).partner;
  for (JobIndex other = next; other != kNoJob && other != job; other = ledger_.progress(other).partner) {
    changed(Change::Kind::kSpeed, other);
  }
}

// The policy has heard of their end, if it ever knew them.
void Dispatcher::forget_jobs() {
  const auto untold = std::partition(event_forgotten_.begin(), event_forgotten_.end(), [&](JobIndex job) {
    return !is_in(event_ended_, job) && !is_in(event_withdrawn_, job);
  });
  std::for_each(event_forgotten_.begin(), untold, [&](JobIndex job) {
    ledger_.forget(job);
    ages_.forget(job);
    first_starts_.forget(job);
    forgotten_.push_back(job);
  });
  event_forgotten_.erase(event_forgotten_.begin(), untold);
}

inline Status Dispatcher::ask() {
  decided_.clear();
  forgotten_.clear();
  if (!event_forgotten_.empty()) forget_jobs();
  Event event = untold();
  event.forgotten = forgotten_;
  policy_->decide(ledger_, event, decided_);
  const bool happened = events_pending();
  if (!happened) ++events_;
  stalled_ = decided_.empty() && !happened && policy_->wake_at_ns() <= ledger_.now();
  if (running_ == 0 && decided_.empty() && round_ns_ > 0) stalled_ = true;
  event_arrived_.clear();
  event_ended_.clear();
  event_evicted_.clear();
  event_withdrawn_.clear();
  event_revised_.clear();
  machines_changed_ = false;
  logged_before_ = log_.size();
  for (Decision& decision : decided_) {
    if (Status can = ledger_.check_release(decision); !can) {
      ORRERY_TRY_VOID(refuse(decision, std::move(can).error()));
      decision.action = Action::kEvict;  // nothing is taken for it
      continue;
    }
    record(decision);
    if (releases(decision.action)) let_go(decision);
  }
  for (Decision& decision : decided_) {
    if (decision.action == Action::kSetBatch) {
      ledger_.set_batch_factor(decision.job, decision.batch_factor);
      changed(Change::Kind::kSpeed, decision.job);
    }
    if (!takes(decision.action)) continue;
    if (Status can = ledger_.check_take(decision); !can) {
      ORRERY_TRY_VOID(refuse(decision, std::move(can).error()));
      continue;
    }
    take(decision);
  }
  return {};
}

// A decision that cannot be carried out.
Status Dispatcher::refuse(const Decision& decision, Error error) {
  if (options_.is_strict) return error;
  was_refused_ = true;
  if (!options_.keep_log) return {};
  // A decision that released GPUs before it could not take others is in the log already.
  const auto is_it = [&](const LoggedDecision& entry) {
    return entry.decision.job == decision.job && entry.decision.action == decision.action && entry.error.empty();
  };
  const auto of_call = log_.begin() + static_cast<std::ptrdiff_t>(logged_before_);
  const auto entry = std::find_if(of_call, log_.end(), is_it);
  if (entry == log_.end()) {
    log_.push_back({ledger_.now(), decision, error.message()});
  } else {
    entry->error = error.message();
  }
  return {};
}

std::string Dispatcher::save_policy() {
  return save(*policy_, ledger_, untold());
}

Result<bool> Dispatcher::restart_policy(std::string_view bytes) {
  policy_.reset();
  ORRERY_TRY(policy_, make_policy_(ledger_));
  if (restore(*policy_, bytes, ledger_, untold())) return true;
  ORRERY_TRY_VOID(adopt());
  ORRERY_TRY_VOID(ask());
  return false;
}

// A new policy that knows nothing but the view.
Status Dispatcher::adopt() {
  policy_.reset();
  ORRERY_TRY(policy_, make_policy_(ledger_));
  policy_->adopt(ledger_);
  event_arrived_.clear();
  event_ended_.clear();
  event_evicted_.clear();
  event_revised_.clear();
  event_withdrawn_.assign(aged_.waiting().begin(), aged_.waiting().end());
  machines_changed_ = true;
  return {};
}

inline void Dispatcher::let_go(const Decision& decision) {
  if (ledger_.is_running(decision.job)) release(decision.job, takes(decision.action), false);
  if (decision.action != Action::kStop) return;
  ledger_.end(decision.job);
  if (options_.age_ns > 0) ages_.remove(decision.job);
  --active_;
  leave_quota(decision.job);
}

inline void Dispatcher::take(Decision& decision) {
  const JobIndex job = decision.job;
  const bool moves = releases(decision.action);
  const TimeNs resumes = moves ? ledger_.now() + options_.costs.move_ns : resumes_of(job);
  if (shares(decision.action)) {
    ledger_.share(job, decision.other, decision.action == Action::kInterleave, 0, resumes);
    changed_others(job);
    begin(job, decision.other);
    return;
  }
  ledger_.start(job, std::move(decision.allocation), 0, resumes);
  begin(job);
}

inline void Dispatcher::record(const Decision& decision) {
  std::uint64_t hash = hash_;
  const auto mix = [&hash](std::uint64_t value) { hash = mix64(hash ^ value); };
  mix(static_cast<std::uint64_t>(ledger_.now()));
  mix(static_cast<std::uint64_t>(decision.action) << 32 | static_cast<std::uint32_t>(decision.job.value()));
  for (const Slice& slice : decision.allocation) {
    mix(std::uint64_t{slice.machine.place()} << 32 | static_cast<std::uint32_t>(slice.gpus));
    if (slice.servers > 0) mix(static_cast<std::uint64_t>(slice.servers));
  }
  if (decision.action == Action::kSetBatch) mix(std::bit_cast<std::uint32_t>(decision.batch_factor));
  hash_ = hash;
  ++decisions_made_;
  if (options_.keep_log) log_.push_back({ledger_.now(), decision});
}

int Dispatcher::capacity_for(JobIndex job, bool only_up) const {
  if (!only_up && !ledger_.is_typed()) return capacity_;
  std::vector<int> up;
  if (only_up) {
    up.assign(capacities_.size(), 0);
    for (const MachineIndex m : machine_gpus_.indices()) {
      const MachineView& machine = ledger_.machines()[m];
      if (machine.up) up[static_cast<std::size_t>(machine.device)] += machine_gpus_[m];
    }
    if (!ledger_.is_typed()) return std::accumulate(up.begin(), up.end(), 0);
  }
  const std::vector<int>& by_type = only_up ? up : capacities_;
  int most = 0;
  for (const std::int32_t type : ledger_.types_of(job)) {
    most = std::max(most, by_type[static_cast<std::size_t>(type)]);
  }
  return most;
}

}  // namespace orrery::schedule
