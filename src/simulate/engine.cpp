#include "simulate/engine.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "simulate/end_queue.h"
#include "simulate/use_series.h"

namespace orrery::simulate {

using schedule::Action;
using schedule::Allocation;
using schedule::ClusterLedger;
using schedule::Decision;
using schedule::Policy;

namespace {

class Engine {
 public:
  Engine(const Workload& workload, const std::vector<schedule::MachineView>& machines, const SpeedModel& speed,
         const EngineOptions& options)
      : workload_(workload), speed_(speed), options_(options), ledger_(machines), ends_(workload.jobs.size()) {
    const std::size_t count = workload.jobs.size();
    ledger_.reserve_jobs(count);
    result_.jobs.resize(count);
    if (options.keep_holdings) held_since_.resize(count);
    const Random random = Random(options.seed).split("prediction");
    for (std::size_t j = 0; j < count; ++j) {
      JobFacts facts = workload.jobs[j].facts;
      if (options.prediction_sigma > 0) {
        const double factor = std::exp(options.prediction_sigma * random.split(j).normal());
        facts.work_ns = static_cast<TimeNs>(std::min(static_cast<double>(facts.work_ns) * factor, 4e18));
      }
      ledger_.add(facts);
    }
    if (options.tenant_quota > 0) quotas_.resize(std::max<std::size_t>(1, workload.tenants.size()));
    for (const Outage& outage : options.outages) {
      outages_.push_back({outage.fails_ns, false, outage.machine, outage.is_announced});
      if (outage.returns_ns != kNever) outages_.push_back({outage.returns_ns, true, outage.machine, false});
    }
    std::stable_sort(outages_.begin(), outages_.end(), [](const MachineChange& a, const MachineChange& b) {
      return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.up > b.up;
    });
  }

  const schedule::ClusterView& view() const { return ledger_; }

  Result<RunResult> run(Policy& policy) {
    result_.policy = policy.name();
    round_ns_ = options_.round_ns > 0 ? options_.round_ns : policy.round_ns();
    while (true) {
      const TimeNs next = next_event(policy);
      if (next == kNever) break;
      advance_to(next);
      end_jobs();
      change_machines();
      arrive();
      const bool asked = round_ns_ == 0 || next % round_ns_ == 0;
      if (asked) {
        ORRERY_TRY_VOID(ask(policy));
        use_.add({next, ledger_.gpus() - ledger_.free_gpus(), active_ - running_, running_});
      }
      if (options_.check_invariants) ORRERY_TRY_VOID(ledger_.check_invariants());
    }
    finish();
    return std::move(result_);
  }

 private:
  struct MachineChange {
    TimeNs at_ns = 0;
    bool up = false;
    std::int32_t machine = 0;
    bool is_announced = false;
  };

  TimeNs true_work(JobIndex job) const { return workload_.jobs[static_cast<std::size_t>(job)].facts.work_ns; }
  JobOutcome& outcome(JobIndex job) { return result_.jobs[static_cast<std::size_t>(job)]; }

  TimeNs next_event(const Policy& policy) {
    TimeNs next = kNever;
    if (!ends_.empty()) next = ends_.at_ns();
    if (arrived_ < workload_.jobs.size()) next = std::min(next, workload_.jobs[arrived_].facts.submit_ns);
    const bool jobs_left = next != kNever || active_ > 0;
    if (round_ns_ > 0) {
      // Somebody runs, waits or just ended: the next round can change something.
      if (running_ > 0 || events_pending() || (active_ > 0 && !stalled_)) {
        next = std::min(next, (ledger_.now() / round_ns_ + 1) * round_ns_);
      }
    } else if (jobs_left) {
      // Without a change since, a policy that wakes up in the past would be asked for ever.
      const TimeNs wake = policy.wake_at_ns();
      if (wake != kNever && !stalled_) next = std::min(next, std::max(wake, ledger_.now()));
    }
    if (jobs_left && change_ < outages_.size()) next = std::min(next, outages_[change_].at_ns);
    // Submission can be before now only by a job list that is not in order, which normalise() rules out.
    return next == kNever ? next : std::max(next, ledger_.now());
  }

  bool events_pending() const {
    return !event_arrived_.empty() || !event_ended_.empty() || !event_evicted_.empty() || machines_changed_;
  }

  void advance_to(TimeNs next) {
    const double busy = ledger_.gpus() - ledger_.free_gpus();
    result_.busy_gpu_ns += busy * static_cast<double>(next - ledger_.now());
    ledger_.advance_to(next);
  }

  void end_jobs() {
    while (!ends_.empty() && ends_.at_ns() <= ledger_.now()) {
      const JobIndex job = ends_.job();
      ends_.remove(job);
      const JobIndex partner = ledger_.progress(job).partner;
      keep_holding(job);
      ledger_.end(job);
      JobOutcome& o = outcome(job);
      o.end_ns = ledger_.now();
      o.executed_ns = ledger_.progress(job).executed_ns;
      o.first_start_ns = ledger_.progress(job).first_start_ns;
      o.starts = ledger_.progress(job).starts;
      result_.makespan_ns = ledger_.now();
      event_ended_.push_back(job);
      --running_;
      --active_;
      leave_quota(job);
      if (partner != schedule::kNoJob) reschedule(partner);
      ++result_.events;
    }
  }

  void change_machines() {
    for (; change_ < outages_.size() && outages_[change_].at_ns <= ledger_.now(); ++change_) {
      const MachineChange& change = outages_[change_];
      if (!change.up) evict(change);
      ledger_.set_machine_up(change.machine, change.up);
      machines_changed_ = true;
      ++result_.events;
    }
  }

  void evict(const MachineChange& change) {
    for (std::size_t j = 0; j < ledger_.jobs(); ++j) {
      const auto job = static_cast<JobIndex>(j);
      const Allocation& held = ledger_.progress(job).allocation;
      const bool there =
          std::any_of(held.begin(), held.end(), [&](const auto& s) { return s.machine == change.machine; });
      if (!there) continue;
      release(job);
      const TimeNs every = options_.costs.checkpoint_ns;
      if (every > 0 && !change.is_announced) ledger_.lose_work(job, ledger_.progress(job).done_ns / every * every);
      event_evicted_.push_back(job);
    }
  }

  void arrive() {
    for (; arrived_ < workload_.jobs.size(); ++arrived_) {
      const JobFacts& facts = workload_.jobs[arrived_].facts;
      if (facts.submit_ns > ledger_.now()) return;
      const auto job = static_cast<JobIndex>(arrived_);
      ++result_.events;
      const bool beyond_quota = options_.tenant_quota > 0 && facts.gpus > options_.tenant_quota;
      if (facts.gpus > capacity() || beyond_quota) {
        result_.too_large.push_back(job);
        continue;
      }
      if (options_.tenant_quota > 0) {
        Quota& quota = quota_of(job);
        quota.held.push_back(job);
        admit_within(quota);
      } else {
        admit(job);
      }
    }
  }

  void admit(JobIndex job) {
    ++active_;
    ledger_.admit(job);
    event_arrived_.push_back(job);
  }

  // A tenant's GPUs asked for by jobs the policy knows, and the jobs that wait to be shown to it.
  struct Quota {
    std::int64_t gpus = 0;
    std::deque<JobIndex> held{};
  };

  Quota& quota_of(JobIndex job) { return quotas_[static_cast<std::size_t>(ledger_.facts(job).tenant)]; }

  void admit_within(Quota& quota) {
    while (!quota.held.empty()) {
      const int gpus = ledger_.facts(quota.held.front()).gpus;
      if (quota.gpus + gpus > options_.tenant_quota) return;
      quota.gpus += gpus;
      admit(quota.held.front());
      quota.held.pop_front();
    }
  }

  void leave_quota(JobIndex job) {
    if (options_.tenant_quota == 0) return;
    Quota& quota = quota_of(job);
    quota.gpus -= ledger_.facts(job).gpus;
    admit_within(quota);
  }

  // With every machine up.
  int capacity() const {
    int gpus = 0;
    for (const schedule::MachineView& machine : ledger_.machines()) gpus += machine.gpus;
    return gpus;
  }

  Status ask(Policy& policy) {
    decisions_.clear();
    policy.decide(ledger_, {event_arrived_, event_ended_, event_evicted_, machines_changed_}, decisions_);
    if (!events_pending()) ++result_.events;
    stalled_ = decisions_.empty() && !events_pending() && policy.wake_at_ns() <= ledger_.now();
    if (running_ == 0 && decisions_.empty() && round_ns_ > 0) stalled_ = true;
    event_arrived_.clear();
    event_ended_.clear();
    event_evicted_.clear();
    machines_changed_ = false;
    for (const Decision& decision : decisions_) {
      ORRERY_TRY_VOID(ledger_.check_release(decision));
      record(decision);
      if (schedule::releases(decision.action)) let_go(decision);
    }
    for (const Decision& decision : decisions_) {
      if (!schedule::takes(decision.action)) continue;
      ORRERY_TRY_VOID(ledger_.check_take(decision));
      take(decision);
    }
    return {};
  }

  void let_go(const Decision& decision) {
    if (ledger_.is_running(decision.job)) release(decision.job);
    if (decision.action != Action::kStop) return;
    ledger_.end(decision.job);
    --active_;
    leave_quota(decision.job);
  }

  void release(JobIndex job) {
    const JobIndex partner = ledger_.progress(job).partner;
    keep_holding(job);
    ledger_.suspend(job);
    ends_.remove(job);
    --running_;
    if (partner != schedule::kNoJob) reschedule(partner);
  }

  void take(const Decision& decision) {
    const JobIndex job = decision.job;
    const bool moves = decision.action == Action::kMigrate || decision.action == Action::kResize;
    const Costs& costs = options_.costs;
    const bool first = ledger_.progress(job).starts == 0;
    const TimeNs resumes = ledger_.now() + (moves ? costs.move_ns : (first ? costs.first_start_ns : costs.resume_ns));
    if (moves) ++outcome(job).moves;
    if (decision.action == Action::kPack) {
      ledger_.pack(job, decision.other, 0, resumes);
      reschedule(decision.other);
    } else {
      ledger_.start(job, decision.allocation, 0, resumes);
    }
    ++running_;
    if (options_.keep_holdings) held_since_[static_cast<std::size_t>(job)] = ledger_.now();
    reschedule(job);
  }

  // Before the job gives its GPUs back.
  void keep_holding(JobIndex job) {
    if (!options_.keep_holdings) return;
    const TimeNs from = held_since_[static_cast<std::size_t>(job)];
    for (const schedule::Slice& slice : ledger_.progress(job).allocation) {
      result_.holdings.push_back({job, slice.machine, slice.gpus, from, ledger_.now()});
    }
  }

  // Sets the rate a job has now, and when it will end.
  void reschedule(JobIndex job) {
    const schedule::JobProgress& p = ledger_.progress(job);
    double rate = speed_.rate(ledger_, job, p.allocation);
    if (p.partner != schedule::kNoJob) rate *= speed_.packed_share(ledger_, job, p.partner);
    ledger_.set_rate(job, rate);
    if (!(rate > 0)) {
      ends_.remove(job);
      return;
    }
    const TimeNs left = std::max<TimeNs>(0, true_work(job) - p.done_ns);
    const TimeNs takes = rate == 1 ? left : static_cast<TimeNs>(std::ceil(static_cast<double>(left) / rate));
    ends_.set(job, std::max(ledger_.now(), p.resumes_ns) + takes);
  }

  void record(const Decision& decision) {
    std::uint64_t hash = result_.decision_hash;
    const auto mix = [&hash](std::uint64_t value) { hash = mix64(hash ^ value); };
    mix(static_cast<std::uint64_t>(ledger_.now()));
    mix(static_cast<std::uint64_t>(decision.action) << 32 | static_cast<std::uint32_t>(decision.job));
    for (const schedule::Slice& slice : decision.allocation) {
      mix(static_cast<std::uint64_t>(slice.machine) << 32 | static_cast<std::uint32_t>(slice.gpus));
    }
    result_.decision_hash = hash;
    ++result_.decisions;
    if (options_.keep_log) result_.log.push_back({ledger_.now(), decision});
  }

  void finish() {
    for (std::size_t j = 0; j < result_.jobs.size(); ++j) {
      const auto state = ledger_.progress(static_cast<JobIndex>(j)).state;
      const bool refused = std::binary_search(result_.too_large.begin(), result_.too_large.end(), j);
      if (state != schedule::JobState::kEnded && !refused) result_.unfinished.push_back(static_cast<JobIndex>(j));
    }
    result_.use = std::move(use_).take();
  }

  const Workload& workload_;
  const SpeedModel& speed_;
  const EngineOptions& options_;
  ClusterLedger ledger_;
  RunResult result_;
  UseSeries use_;
  EndQueue ends_;
  std::vector<MachineChange> outages_;
  std::size_t change_ = 0;
  TimeNs round_ns_ = 0;
  std::size_t arrived_ = 0;
  std::int32_t active_ = 0;  // arrived and not ended
  std::int32_t running_ = 0;
  bool stalled_ = false;  // asked without an event, and nothing was decided
  bool machines_changed_ = false;
  std::vector<JobIndex> event_arrived_, event_ended_, event_evicted_;
  std::vector<Decision> decisions_;
  std::vector<Quota> quotas_;       // by tenant, if there are any
  std::vector<TimeNs> held_since_;  // by job, if holdings are kept
};

}  // namespace

std::vector<Outage> random_outages(std::size_t machines, double mean_time_between_s, double mean_repair_s, TimeNs until,
                                   std::uint64_t seed) {
  std::vector<Outage> outages;
  for (std::size_t m = 0; m < machines; ++m) {
    Random random = Random(seed).split("outages").split(m);
    double at_s = random.exponential(mean_time_between_s);
    while (at_s < schedule::to_seconds(until)) {
      // At least a millisecond, so that a machine is never down and up at one instant.
      const double repaired_s = at_s + std::max(1e-3, random.exponential(mean_repair_s));
      outages.push_back(
          {schedule::from_seconds(at_s), schedule::from_seconds(repaired_s), static_cast<std::int32_t>(m)});
      at_s = repaired_s + std::max(1e-3, random.exponential(mean_time_between_s));
    }
  }
  return outages;
}

void announce(std::vector<Outage>& outages, TimeNs notice_ns, TimeNs save_ns) {
  if (notice_ns < save_ns) return;
  for (Outage& outage : outages) {
    outage.fails_ns = std::max<TimeNs>(0, outage.fails_ns - notice_ns + save_ns);
    outage.is_announced = true;
  }
}

Result<RunResult> simulate(const Workload& workload, const std::vector<schedule::MachineView>& machines,
                           const SpeedModel& speed,
                           const std::function<Result<std::unique_ptr<Policy>>(const schedule::ClusterView&)>& policy,
                           const EngineOptions& options) {
  Engine engine(workload, machines, speed, options);
  ORRERY_TRY(const std::unique_ptr<Policy> made, policy(engine.view()));
  return engine.run(*made);
}

}  // namespace orrery::simulate
