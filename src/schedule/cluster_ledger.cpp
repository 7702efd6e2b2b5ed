#include "schedule/cluster_ledger.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

#include "base/check.h"

namespace orrery::schedule {

ClusterLedger::ClusterLedger(Machines machines) {
  machines_ = std::move(machines);
  for (MachineView& machine : machines_) {
    machine.free = machine.gpus;
    machine.servers = machine.servers_free = machine.gpus;
    machine.cpus_free = machine.cpus;
    machine.memory_free = machine.memory;
    gpus_ += machine.gpus;
    types_ = std::max(types_, machine.device + 1);
  }
  free_ = gpus_;
}

void ClusterLedger::set_speeds(std::vector<std::vector<double>> by_class) {
  speeds_ = std::move(by_class);
  fit_classes_.clear();
  std::map<std::vector<bool>, std::int32_t> first_with;
  for (const std::vector<double>& speeds : speeds_) {
    std::vector<bool> runs_on(static_cast<std::size_t>(types_), false);
    for (std::size_t type = 0; type < std::min(speeds.size(), runs_on.size()); ++type) runs_on[type] = speeds[type] > 0;
    const auto number = static_cast<std::int32_t>(fit_classes_.size());
    fit_classes_.push_back(first_with.emplace(std::move(runs_on), number).first->second);
  }
}

void ClusterLedger::reserve_jobs(std::size_t count) {
  facts_.reserve(count);
  progress_.reserve(count);
}

JobIndex ClusterLedger::add(JobFacts&& facts) {
  const JobIndex job = facts_.end();
  facts_.push_back(std::move(facts));
  progress_.push_back({});
  return job;
}

void ClusterLedger::admit(JobIndex job) {
  ORRERY_CHECK(changed(job).state == JobState::kUnknown);
  changed(job).state = JobState::kWaiting;
}

void ClusterLedger::forget(JobIndex job) {
  ORRERY_CHECK(progress(job).state == JobState::kEnded);
  facts_.forget(job);
  progress_.forget(job);
}

void ClusterLedger::advance_to(TimeNs now) {
  ORRERY_CHECK(now >= now_);
  now_ = now;
}

namespace {

Error refuse(const Decision& decision, std::string_view what) {
  return Error::internal(fmt::format("cannot {} job {}: {}", to_string(decision.action), decision.job, what));
}

}  // namespace

Status ClusterLedger::check_release(const Decision& decision) const {
  if (!decision.job.valid() || decision.job >= facts_.end()) {
    return refuse(decision, "no such job");
  }
  const JobProgress& p = progress(decision.job);
  if (p.state == JobState::kEnded) return refuse(decision, "it has ended");
  if (decision.action == Action::kEvict) return refuse(decision, "a failure does that, no policy");
  const bool running = p.state == JobState::kRunning;
  if (takes_only(decision.action) && running) return refuse(decision, "it runs already");
  if (!takes_only(decision.action) && decision.action != Action::kStop && !running) {
    return refuse(decision, "it does not run");
  }
  if (p.is_withheld) return refuse(decision, "it runs on GPUs that are not the policy's");
  const bool suspends = decision.action == Action::kSuspend || decision.action == Action::kUnpack;
  if (suspends && is_protected(decision.job)) return refuse(decision, "it has not had its minimum run time");
  if (decision.action == Action::kSetBatch && !(decision.batch_factor > 0 && decision.batch_factor <= 1e6)) {
    return refuse(decision, fmt::format("{} is no factor of a batch", decision.batch_factor));
  }
  return {};
}

Status ClusterLedger::check_share(const Decision& decision) const {
  if (!decision.other.valid() || !is_running(decision.other)) return refuse(decision, "the other job does not run");
  const JobProgress& other = progress(decision.other);
  if (other.partner == kNoJob) return {};
  if (decision.action == Action::kPack || !other.interleaves) {
    return refuse(decision, "the other job shares its GPUs already");
  }
  if (group_of(decision.other).size() == kGroupMax) {
    return refuse(decision, fmt::format("{} jobs share these GPUs already", kGroupMax));
  }
  return {};
}

Status ClusterLedger::check_take(const Decision& decision) const {
  if (shares(decision.action)) return check_share(decision);
  if (decision.allocation.empty()) return refuse(decision, "no GPUs are given");
  for (const Slice& slice : decision.allocation) {
    if (!slice.machine.valid() || slice.machine.place() >= machines_.size()) {
      return refuse(decision, "no such machine");
    }
    const MachineView& machine = machines_[slice.machine];
    const int room = machine.up ? machine.free : 0;
    if (slice.gpus < 0 || slice.servers < 0 || slice.gpus + slice.servers == 0) {
      return refuse(decision, fmt::format("nothing is taken of machine {}", slice.machine));
    }
    if (slice.gpus > room) {
      return refuse(decision, fmt::format("machine {} has {} GPUs for it, not {}", slice.machine, room, slice.gpus));
    }
    if (slice.servers > (machine.up ? machine.servers_free : 0)) {
      return refuse(decision, fmt::format("machine {} has no capacity for {} servers", slice.machine, slice.servers));
    }
    if (is_typed() && slice.gpus > 0 && !(speed_on(decision.job, machine.device) > 0)) {
      return refuse(decision, fmt::format("it has no speed on the type of machine {}", slice.machine));
    }
  }
  return {};
}

inline void ClusterLedger::book(JobProgress& p) {
  if (p.is_starting || p.since_ns == now_) return;
  p.executed_ns = p.executed_ns_at(now_);
  p.done_ns = p.done_ns_at(now_);
  p.since_ns = now_;
}

namespace {

// 0 to `all`, in one comparison.
bool is_share(std::int32_t part, std::int32_t all) {
  return static_cast<std::uint32_t>(part) <= static_cast<std::uint32_t>(all);
}

}  // namespace

inline void ClusterLedger::hold(JobIndex job, const Allocation& allocation, int sign) {
  const JobFacts& f = facts(job);
  const bool more_than_gpus = f.cpus > 0 || f.memory > 0;
  const double share = more_than_gpus ? 1.0 / std::max(1, gpus_in(allocation)) : 0;
  for (const Slice& slice : allocation) {
    MachineView& machine = machines_[slice.machine];
    const int taken = sign * slice.gpus;
    const int before = machine.free, after = before - taken;
    // An unused machine has no stranded GPUs.
    stranded_ += (after == machine.gpus ? 0 : after) - (before == machine.gpus ? 0 : before);
    machine.free = after;
    changes_.add(slice.machine, machines_.size());
    machine.servers_free -= sign * slice.servers;
    free_ -= taken;
    ORRERY_CHECK(is_share(machine.free, machine.gpus) && is_share(machine.servers_free, machine.servers));
    if (!more_than_gpus) continue;
    machine.cpus_free -= sign * f.cpus * share * slice.gpus;
    machine.memory_free -= sign * f.memory * share * slice.gpus;
  }
}

// The machine has more GPUs for the policy, all of them free, or fewer.
void ClusterLedger::change_machine(const Slice& slice, int sign) {
  MachineView& machine = machines_[slice.machine];
  stranded_ -= stranded_on(machine);
  machine.gpus += sign * slice.gpus;
  machine.free += sign * slice.gpus;
  changes_.add(slice.machine, machines_.size());
  gpus_ += sign * slice.gpus;
  free_ += sign * slice.gpus;
  stranded_ += stranded_on(machine);
  ORRERY_CHECK(machine.free >= 0 && machine.free <= machine.gpus);
}

void ClusterLedger::withhold(const Slice& slice) {
  change_machine(slice, -1);
}

void ClusterLedger::give_back(const Slice& slice) {
  change_machine(slice, +1);
}

void ClusterLedger::start_withheld(JobIndex job, const Allocation& allocation, double rate, TimeNs resumes) {
  set_running(job, allocation, rate, resumes).is_withheld = true;
  withheld_held_ += gpus_in(allocation);
}

double ClusterLedger::type_speed(JobIndex job, const Allocation& allocation) const {
  if (!is_typed()) return 1;
  double slowest = allocation.empty() ? 0 : 1e300;
  for (const Slice& slice : allocation) {
    if (slice.gpus == 0) continue;
    slowest = std::min(slowest, speed_on(job, machines_[slice.machine].device));
  }
  return slowest;
}

inline JobProgress& ClusterLedger::set_running(JobIndex job, Allocation allocation, double rate, TimeNs resumes) {
  JobProgress& p = changed(job);
  ORRERY_CHECK(p.state == JobState::kWaiting || p.state == JobState::kSuspended);
  p.allocation = std::move(allocation);
  p.state = JobState::kRunning;
  p.rate = rate;
  p.since_ns = now_;
  p.started_ns = now_;
  p.resumes_ns = resumes;
  p.slowest_worker = 1;
  p.first_start_ns = std::min(p.first_start_ns, now_);
  ++p.starts;
  return p;
}

void ClusterLedger::await_start(JobIndex job) {
  constexpr TimeNs kFar = kNever / 4;  // sums with it do not overflow
  JobProgress& p = changed(job);
  ORRERY_CHECK(p.state == JobState::kRunning);
  p.is_starting = true;
  p.since_ns = p.started_ns = now_ + kFar;
}

void ClusterLedger::begin_work(JobIndex job) {
  JobProgress& p = changed(job);
  ORRERY_CHECK(p.is_starting);
  p.is_starting = false;
  p.since_ns = p.started_ns = p.resumes_ns = now_;
}

void ClusterLedger::start(JobIndex job, Allocation allocation, double rate, TimeNs resumes) {
  hold(job, allocation, +1);
  set_running(job, std::move(allocation), rate, resumes);
}

void ClusterLedger::share(JobIndex guest, JobIndex host, bool interleaves, double rate, TimeNs resumes) {
  ORRERY_CHECK(is_running(host) && (progress(host).partner == kNoJob || (interleaves && progress(host).interleaves)));
  JobProgress& p = set_running(guest, progress(host).allocation, rate, resumes);
  JobProgress& before = changed(host);
  p.partner = before.partner == kNoJob ? host : before.partner;
  p.is_guest = true;
  p.interleaves = before.interleaves = interleaves;
  before.partner = guest;
}

// The others keep the GPUs; if they were counted with this job, they are counted with the next one from now on.
void ClusterLedger::leave_ring(JobIndex job) {
  JobProgress& p = changed(job);
  JobProgress& next = changed(p.partner);
  if (!p.is_guest) {
    hold(job, p.allocation, -1);
    hold(p.partner, next.allocation, +1);
    next.is_guest = false;
  }
  JobIndex last = p.partner;
  while (progress(last).partner != job) last = progress(last).partner;
  const bool is_alone = last == p.partner;
  changed(last).partner = is_alone ? kNoJob : p.partner;
  if (is_alone) next.interleaves = false;
}

void ClusterLedger::suspend(JobIndex job) {
  JobProgress& p = changed(job);
  ORRERY_CHECK(p.state == JobState::kRunning);
  release(job, p);
  p.state = JobState::kSuspended;
}

inline void ClusterLedger::release(JobIndex job, JobProgress& p) {
  book(p);
  p.since_ns = now_;
  if (p.is_withheld) {
    for (const Slice& slice : p.allocation) give_back(slice);
    withheld_held_ -= gpus_in(p.allocation);
    p.is_withheld = false;
  } else if (p.partner != kNoJob) {
    leave_ring(job);
  } else {
    hold(job, p.allocation, -1);
  }
  p.partner = kNoJob;
  p.is_guest = false;
  p.interleaves = false;
  p.is_starting = false;
  p.allocation.clear();
  p.rate = 0;
}

void ClusterLedger::end(JobIndex job) {
  JobProgress& p = changed(job);
  if (p.state == JobState::kRunning) release(job, p);
  p.state = JobState::kEnded;
}

void ClusterLedger::set_rate(JobIndex job, double rate) {
  JobProgress& p = changed(job);
  ORRERY_CHECK(p.state == JobState::kRunning && rate >= 0);
  book(p);
  p.rate = rate;
}

void ClusterLedger::lose_work(JobIndex job, TimeNs kept_ns) {
  ORRERY_CHECK(!is_running(job));
  JobProgress& p = changed(job);
  p.done_ns = std::min(p.done_ns, kept_ns);
}

void ClusterLedger::revise(JobIndex job, const JobFacts& known) {
  JobFacts& facts = facts_[job];
  facts.work_ns = known.work_ns;
  facts.gpu_utilisation = known.gpu_utilisation;
  facts.gpu_memory_share = known.gpu_memory_share;
  facts.stages = known.stages;
}

void ClusterLedger::set_machine_up(MachineIndex machine, bool up) {
  MachineView& changed_machine = machines_[machine];
  if (changed_machine.up == up) return;
  ORRERY_CHECK(changed_machine.free == changed_machine.gpus || up);
  stranded_ -= stranded_on(changed_machine);
  changed_machine.up = up;
  changes_.add(machine, machines_.size());
  stranded_ += stranded_on(changed_machine);
  // A machine that is down has no GPUs to give.
  gpus_ += up ? changed_machine.gpus : -changed_machine.gpus;
  free_ += up ? changed_machine.gpus : -changed_machine.gpus;
}

// At most a group of jobs shares GPUs, all of them the same GPUs, and these are counted with one of the jobs.
Status ClusterLedger::check_ring(JobIndex job) const {
  const JobProgress& p = progress(job);
  if (p.partner == kNoJob) {
    return p.is_guest ? Status(Error::internal(fmt::format("job {}: a guest without a host", job))) : Status{};
  }
  std::size_t size = 0, hosts = 0;
  JobIndex other = job;
  do {
    const JobProgress& one = progress(other);
    if (one.partner == kNoJob || one.allocation != p.allocation || one.interleaves != p.interleaves) {
      return Error::internal(fmt::format("jobs {} and {} share GPUs, but not all", job, other));
    }
    hosts += one.is_guest ? 0U : 1U;
    other = one.partner;
  } while (++size <= kGroupMax && other != job);
  if (other != job || size > (p.interleaves ? kGroupMax : 2)) {
    return Error::internal(fmt::format("job {}: too many share its GPUs", job));
  }
  return hosts == 1 ? Status{} : Error::internal(fmt::format("job {}: {} are counted for its GPUs", job, hosts));
}

Status ClusterLedger::check_invariants() const {
  IndexedVector<MachineIndex, int> held(machines_.size(), 0), servers(machines_.size(), 0);
  for (const JobIndex j : known_jobs()) {
    const JobProgress& p = progress_[j];
    const bool running = p.state == JobState::kRunning;
    if (running == p.allocation.empty()) {
      return Error::internal(fmt::format("job {}: {} GPUs do not go with its state", j, gpus_in(p.allocation)));
    }
    if (p.done_ns < 0 || p.executed_ns < 0) return Error::internal(fmt::format("job {}: negative progress", j));
    ORRERY_TRY_VOID(check_ring(j));
    if (p.is_guest || p.is_withheld) continue;
    for (const Slice& slice : p.allocation) {
      held[slice.machine] += slice.gpus;
      servers[slice.machine] += slice.servers;
    }
  }
  int free = 0, all = 0, stranded = 0;
  for (const MachineIndex m : machines_.indices()) {
    const MachineView& machine = machines_[m];
    stranded += stranded_on(machine);
    if (machine.up) {
      free += machine.free;
      all += machine.gpus;
    } else if (held[m] + servers[m] > 0) {
      return Error::internal(fmt::format("machine {} is down and has jobs", m));
    }
    if (held[m] + machine.free != machine.gpus || machine.free < 0) {
      return Error::internal(
          fmt::format("machine {}: {} of {} GPUs held, {} free", m, held[m], machine.gpus, machine.free));
    }
    if (servers[m] + machine.servers_free != machine.servers) {
      return Error::internal(fmt::format("machine {}: {} of {} servers there, {} free", m, servers[m], machine.servers,
                                         machine.servers_free));
    }
  }
  if (free != free_ || all != gpus_) return Error::internal("the sum of free GPUs is wrong");
  if (stranded != stranded_) return Error::internal("the sum of stranded GPUs is wrong");
  return {};
}

}  // namespace orrery::schedule
