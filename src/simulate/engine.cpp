#include "simulate/engine.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <deque>
#include <fmt/format.h>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "simulate/aged_jobs.h"
#include "simulate/end_queue.h"
#include "simulate/utilisation_series.h"

namespace orrery::simulate {

using schedule::Action;
using schedule::Allocation;
using schedule::ClusterLedger;
using schedule::Decision;
using schedule::Policy;

namespace {

class Engine {
 public:
  Engine(const JobTrace& job_trace, const schedule::Machines& machines, const SpeedModel& speed,
         const EngineOptions& options)
      : job_trace_(job_trace),
        speed_(speed),
        options_(options),
        ledger_(machines),
        ends_(job_trace.jobs.size()),
        ages_(options.age_ns > 0 ? job_trace.jobs.size() : 0),
        aged_(ledger_) {
    const std::size_t count = job_trace.jobs.size();
    ledger_.reserve_jobs(count);
    ledger_.set_speeds(options.speeds);
    ledger_.set_min_run(options.min_run_ns);
    capacities_.resize(static_cast<std::size_t>(ledger_.types()));
    for (const schedule::MachineView& machine : machines) {
      machine_gpus_.push_back(machine.gpus);
      capacities_[static_cast<std::size_t>(machine.device)] += machine.gpus;
    }
    result_.jobs.resize(count);
    if (options.keep_holdings) held_.resize(count);
    const Random random = Random(options.seed).split("prediction");
    for (const JobIndex job : job_trace.jobs.indices()) {
      JobFacts facts = job_trace.jobs[job].facts;
      if (!options.predicted_ns.empty()) {
        facts.work_ns = options.predicted_ns[job];
      } else if (options.prediction_sigma > 0) {
        const double factor = std::exp(options.prediction_sigma * random.split(job.place()).normal());
        facts.work_ns = static_cast<TimeNs>(std::min(static_cast<double>(facts.work_ns) * factor, 4e18));
      }
      ledger_.add(facts);
    }
    if (options.tenant_quota > 0) quotas_.resize(std::max<std::size_t>(1, job_trace.tenants.size()));
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
      if (options_.age_ns > 0) serve_aged();
      const bool asked = round_ns_ == 0 || next % round_ns_ == 0;
      if (asked) {
        ORRERY_TRY_VOID(ask(policy));
        use_.add({next, ledger_.held_gpus(), active_ - running_, running_, ledger_.stranded_gpus()});
      }
      if (options_.check_invariants) ORRERY_TRY_VOID(check_invariants());
    }
    finish();
    ORRERY_TRY_VOID(check_liveness());
    return std::move(result_);
  }

 private:
  struct MachineChange {
    TimeNs at_ns = 0;
    bool up = false;
    MachineIndex machine{};
    bool is_announced = false;
  };

  // The ledger is consistent, and no job has less work done than before, except what a failure lost.
  Status check_invariants() {
    ORRERY_TRY_VOID(ledger_.check_invariants());
    done_before_.resize(ledger_.jobs());
    for (const JobIndex job : done_before_.indices()) {
      const TimeNs done = ledger_.done_ns(job);
      if (done < done_before_[job]) return Error::internal(fmt::format("job {}: its work became less", job));
      done_before_[job] = done;
    }
    return {};
  }

  TimeNs true_work(JobIndex job) const { return job_trace_.jobs[job].facts.work_ns; }
  JobOutcome& outcome(JobIndex job) { return result_.jobs[job]; }

  TimeNs next_event(const Policy& policy) {
    TimeNs next = kNever;
    if (!ends_.empty()) next = ends_.at_ns();
    if (arrived_.place() < job_trace_.jobs.size()) next = std::min(next, job_trace_.jobs[arrived_].facts.submit_ns);
    const bool jobs_left = next != kNever || active_ > 0;
    if (!ages_.empty()) next = std::min(next, ages_.at_ns());
    // The minimum run time of a job is over, and others wait.
    while (!protected_.empty() && protected_.front() <= ledger_.now()) protected_.pop_front();
    if (!protected_.empty() && active_ > running_) next = std::min(next, protected_.front());
    if (round_ns_ > 0) {
      // A job runs, waits or just ended: the next round can change something.
      if (running_ > 0 || events_pending() || (active_ > 0 && !stalled_)) {
        next = std::min(next, (ledger_.now() / round_ns_ + 1) * round_ns_);
      }
    } else if (jobs_left) {
      // Without a change since then, a policy that wakes up in the past would be called for ever.
      const TimeNs wake = policy.wake_at_ns();
      if (wake != kNever && !stalled_) next = std::min(next, std::max(wake, ledger_.now()));
    }
    if (jobs_left && change_ < outages_.size()) next = std::min(next, outages_[change_].at_ns);
    // Submission can be before now only by a job list that is not in order, which normalise() rules out.
    return next == kNever ? next : std::max(next, ledger_.now());
  }

  bool events_pending() const {
    return !event_arrived_.empty() || !event_ended_.empty() || !event_evicted_.empty() || !event_withdrawn_.empty() ||
           machines_changed_;
  }

  void advance_to(TimeNs next) {
    const double busy = ledger_.held_gpus(), passed = static_cast<double>(next - ledger_.now());
    result_.busy_gpu_ns += busy * passed;
    result_.stranded_gpu_ns += ledger_.stranded_gpus() * passed;
    if (!options_.prices.empty()) pay(next, busy);
    ledger_.advance_to(next);
  }

  // For the GPUs in use from now to `next`.
  void pay(TimeNs next, double busy) {
    const std::vector<PricePoint>& prices = options_.prices;
    for (TimeNs at = ledger_.now(); at < next;) {
      while (price_ + 1 < prices.size() && prices[price_ + 1].at_ns <= at) ++price_;
      const TimeNs until = price_ + 1 < prices.size() ? std::min(next, prices[price_ + 1].at_ns) : next;
      result_.price_usd += busy * prices[price_].usd_per_gpu_h * static_cast<double>(until - at) * 1e-9 / 3600;
      at = until;
    }
  }

  void end_jobs() {
    while (!ends_.empty() && ends_.at_ns() <= ledger_.now()) {
      const JobIndex job = ends_.job();
      ends_.remove(job);
      const JobIndex partner = ledger_.progress(job).partner;
      keep_holding(job);
      const bool withheld = ledger_.progress(job).is_withheld;
      ledger_.end(job);
      JobOutcome& o = outcome(job);
      o.end_ns = ledger_.now();
      o.executed_ns = ledger_.progress(job).executed_ns;
      o.first_start_ns = ledger_.progress(job).first_start_ns;
      o.starts = ledger_.progress(job).starts;
      result_.makespan_ns = ledger_.now();
      // The policy does not know jobs that aged, but their GPUs are its own again.
      machines_changed_ = machines_changed_ || withheld;
      if (!withheld) event_ended_.push_back(job);
      --running_;
      --active_;
      leave_quota(job);
      if (partner != schedule::kNoJob) reschedule_group(partner);
      ++result_.events;
    }
  }

  void change_machines() {
    for (; change_ < outages_.size() && outages_[change_].at_ns <= ledger_.now(); ++change_) {
      const MachineChange& change = outages_[change_];
      if (!change.up) {
        evict(change);
        aged_.lose(change.machine);
      }
      ledger_.set_machine_up(change.machine, change.up);
      machines_changed_ = true;
      ++result_.events;
    }
  }

  void evict(const MachineChange& change) {
    for (const JobIndex job : IndexRange<JobIndex>(ledger_.jobs())) {
      const Allocation& held = ledger_.progress(job).allocation;
      const bool there =
          std::any_of(held.begin(), held.end(), [&](const auto& s) { return s.machine == change.machine; });
      if (!there) continue;
      const bool withheld = ledger_.progress(job).is_withheld;
      Allocation lost;
      if (options_.keep_log) lost = held;
      release(job);
      const TimeNs every = options_.costs.checkpoint_ns, done = ledger_.progress(job).done_ns;
      if (every > 0 && !change.is_announced) {
        ledger_.lose_work(job, done / every * every);
        if (!done_before_.empty()) done_before_[job] = 0;
      }
      if (options_.keep_log) {
        const double lost_s = schedule::to_seconds(done - ledger_.progress(job).done_ns);
        result_.log.push_back(
            {ledger_.now(),
             {.action = Action::kEvict,
              .job = job,
              .allocation = std::move(lost),
              .reason = {schedule::Why::kMachineFailed, static_cast<double>(change.machine.value()), lost_s}}});
      }
      if (withheld) {
        ages_.remove(job);
        aged_.add_first(job);
      } else {
        event_evicted_.push_back(job);
      }
    }
  }

  static bool is_in(const std::vector<JobIndex>& jobs, JobIndex job) {
    return std::find(jobs.begin(), jobs.end(), job) != jobs.end();
  }

  // Jobs that waited too long leave the policy; GPUs that are free go to them first.
  void serve_aged() {
    while (!ages_.empty() && ages_.at_ns() <= ledger_.now()) {
      const JobIndex job = ages_.job();
      if (is_in(event_arrived_, job) || is_in(event_evicted_, job)) {
        // The policy has not been told of it yet (it works in rounds): it counts from then on.
        ages_.set(job, ledger_.now() + options_.age_ns);
        continue;
      }
      ages_.remove(job);
      aged_.add(job);
      event_withdrawn_.push_back(job);
      ++result_.events;
    }
    const int before = ledger_.gpus();
    while (const auto ready = aged_.next()) {
      const schedule::JobProgress& p = ledger_.progress(ready->job);
      const TimeNs since = p.starts == 0 ? ledger_.facts(ready->job).submit_ns : p.since_ns;
      const double waited = schedule::to_seconds(ledger_.now() - since);
      record({.job = ready->job, .allocation = ready->allocation, .reason = {schedule::Why::kAged, waited}});
      ledger_.start_withheld(ready->job, ready->allocation, 0, resumes_of(ready->job));
      begin(ready->job);
    }
    machines_changed_ = machines_changed_ || ledger_.gpus() != before;
  }

  TimeNs resumes_of(JobIndex job) const {
    const Costs& costs = options_.costs;
    if (ledger_.progress(job).starts > 0) return ledger_.now() + costs.resume_ns;
    const IndexedVector<JobIndex, TimeNs>& more = options_.first_starts;
    return ledger_.now() + costs.first_start_ns + (more.empty() ? 0 : more[job]);
  }

  // A job has got GPUs.
  void begin(JobIndex job, JobIndex beside = schedule::kNoJob) {
    ++running_;
    if (options_.keep_holdings) held_[job] = {ledger_.now(), beside, starts_++};
    if (options_.age_ns > 0) ages_.remove(job);
    if (options_.min_run_ns > 0) protected_.push_back(ledger_.now() + options_.min_run_ns);
    if (options_.stragglers.probability > 0) draw_straggler(job);
    reschedule(job);
  }

  void draw_straggler(JobIndex job) {
    const schedule::JobProgress& p = ledger_.progress(job);
    Random random =
        Random(options_.seed).split("stragglers").split(job.place()).split(static_cast<std::uint64_t>(p.starts));
    const double none = std::pow(1 - options_.stragglers.probability, schedule::gpus_in(p.allocation));
    if (random.uniform() >= none) ledger_.set_slowest_worker(job, 1 / options_.stragglers.slowdown);
  }

  void arrive() {
    for (; arrived_.place() < job_trace_.jobs.size(); ++arrived_) {
      const JobFacts& facts = job_trace_.jobs[arrived_].facts;
      if (facts.submit_ns > ledger_.now()) return;
      const JobIndex job = arrived_;
      ++result_.events;
      const bool beyond_quota = options_.tenant_quota > 0 && facts.gpus > options_.tenant_quota;
      if (facts.gpus > capacity_for(job, capacities_) || beyond_quota) {
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
    if (options_.age_ns > 0) ages_.set(job, ledger_.now() + options_.age_ns);
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

  // GPUs that a job could get of this many of each type: all, or those of one type it runs on.
  int capacity_for(JobIndex job, const std::vector<int>& by_type) const {
    if (!ledger_.is_typed()) return std::accumulate(by_type.begin(), by_type.end(), 0);
    int most = 0;
    for (const std::int32_t type : ledger_.types_of(job)) {
      most = std::max(most, by_type[static_cast<std::size_t>(type)]);
    }
    return most;
  }

  Status ask(Policy& policy) {
    decisions_.clear();
    policy.decide(ledger_, {event_arrived_, event_ended_, event_evicted_, machines_changed_, event_withdrawn_},
                  decisions_);
    if (!events_pending()) ++result_.events;
    stalled_ = decisions_.empty() && !events_pending() && policy.wake_at_ns() <= ledger_.now();
    if (running_ == 0 && decisions_.empty() && round_ns_ > 0) stalled_ = true;
    event_arrived_.clear();
    event_ended_.clear();
    event_evicted_.clear();
    event_withdrawn_.clear();
    machines_changed_ = false;
    for (const Decision& decision : decisions_) {
      ORRERY_TRY_VOID(ledger_.check_release(decision));
      record(decision);
      if (schedule::releases(decision.action)) let_go(decision);
    }
    for (const Decision& decision : decisions_) {
      if (decision.action == Action::kSetBatch) set_batch(decision);
      if (!schedule::takes(decision.action)) continue;
      ORRERY_TRY_VOID(ledger_.check_take(decision));
      take(decision);
    }
    return {};
  }

  void set_batch(const Decision& decision) {
    ledger_.set_batch_factor(decision.job, decision.batch_factor);
    reschedule(decision.job);
  }

  void let_go(const Decision& decision) {
    if (ledger_.is_running(decision.job)) release(decision.job);
    if (decision.action != Action::kStop) return;
    ledger_.end(decision.job);
    if (options_.age_ns > 0) ages_.remove(decision.job);
    --active_;
    leave_quota(decision.job);
  }

  void release(JobIndex job) {
    const JobIndex partner = ledger_.progress(job).partner;
    keep_holding(job);
    ledger_.suspend(job);
    ends_.remove(job);
    --running_;
    if (options_.age_ns > 0) ages_.set(job, ledger_.now() + options_.age_ns);
    if (partner != schedule::kNoJob) reschedule_group(partner);
  }

  void take(const Decision& decision) {
    const JobIndex job = decision.job;
    const bool moves = decision.action == Action::kMigrate || decision.action == Action::kResize;
    const TimeNs resumes = moves ? ledger_.now() + options_.costs.move_ns : resumes_of(job);
    if (moves) ++outcome(job).moves;
    if (schedule::shares(decision.action)) {
      ledger_.share(job, decision.other, decision.action == Action::kInterleave, 0, resumes);
      reschedule_others(job);
      begin(job, decision.other);
      return;
    }
    ledger_.start(job, decision.allocation, 0, resumes);
    begin(job);
  }

  // Before the job gives its GPUs back.
  void keep_holding(JobIndex job) {
    if (!options_.keep_holdings) return;
    const Held& held = held_[job];
    for (const schedule::Slice& slice : ledger_.progress(job).allocation) {
      if (slice.gpus == 0) continue;
      result_.holdings.push_back(
          {job, slice.machine, slice.gpus, held.since_ns, ledger_.now(), held.beside, held.number});
    }
  }

  // The job and those that share its GPUs, after one has come or left.
  void reschedule_group(JobIndex job) {
    reschedule(job);
    reschedule_others(job);
  }

  void reschedule_others(JobIndex job) {
    const JobIndex next = ledger_.progress(job).partner;
    for (JobIndex other = next; other != schedule::kNoJob && other != job; other = ledger_.progress(other).partner) {
      reschedule(other);
    }
  }

  // Sets the rate a job has now, and when it will end.
  void reschedule(JobIndex job) {
    const schedule::JobProgress& p = ledger_.progress(job);
    double rate = speed_.rate(ledger_, job, p.allocation);
    if (ledger_.is_typed()) rate *= ledger_.type_speed(job, p.allocation);
    if (p.slowest_worker != 1) rate *= p.slowest_worker;
    if (p.batch_factor != 1) rate *= speed_.batch_gain(ledger_, job, p.allocation, p.batch_factor);
    if (p.partner != schedule::kNoJob) {
      rate *= p.interleaves ? speed_.interleaved_share(ledger_, job) : speed_.packed_share(ledger_, job, p.partner);
    }
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
    mix(static_cast<std::uint64_t>(decision.action) << 32 | static_cast<std::uint32_t>(decision.job.value()));
    for (const schedule::Slice& slice : decision.allocation) {
      mix(std::uint64_t{slice.machine.place()} << 32 | static_cast<std::uint32_t>(slice.gpus));
      if (slice.servers > 0) mix(static_cast<std::uint64_t>(slice.servers));
    }
    if (decision.action == Action::kSetBatch) mix(std::bit_cast<std::uint32_t>(decision.batch_factor));
    result_.decision_hash = hash;
    ++result_.decisions;
    if (options_.keep_log) result_.log.push_back({ledger_.now(), decision});
  }

  void finish() {
    for (const JobIndex job : result_.jobs.indices()) {
      const auto state = ledger_.progress(job).state;
      const bool refused = std::binary_search(result_.too_large.begin(), result_.too_large.end(), job);
      if (state != schedule::JobState::kEnded && !refused) result_.unfinished.push_back(job);
    }
    result_.use = std::move(use_).take();
  }

  // If one of the jobs that did not end cannot run on the machines that are up, the others may have to wait behind it.
  // Otherwise the policy left them behind.
  Status check_liveness() const {
    if (result_.unfinished.empty()) return {};
    std::vector<int> up(capacities_.size(), 0);
    for (const MachineIndex m : machine_gpus_.indices()) {
      const schedule::MachineView& machine = ledger_.machines()[m];
      if (machine.up) up[static_cast<std::size_t>(machine.device)] += machine_gpus_[m];
    }
    for (const JobIndex job : result_.unfinished) {
      if (ledger_.facts(job).gpus > capacity_for(job, up)) return {};
    }
    constexpr std::size_t kNamed = 5;
    std::string names;
    for (std::size_t i = 0; i < std::min(kNamed, result_.unfinished.size()); ++i) {
      names += (i == 0 ? "" : ", ") + job_trace_.jobs[result_.unfinished[i]].id;
    }
    if (result_.unfinished.size() > kNamed) names += ", …";
    const std::size_t count = result_.unfinished.size();
    return Error::internal(fmt::format(
        "{} left {} of {} behind that the machines can run ({}): a defect of the policy, so it has no metrics",
        result_.policy, count == 1 ? "1 job" : fmt::format("{} jobs", count), result_.jobs.size(), names));
  }

  const JobTrace& job_trace_;
  const SpeedModel& speed_;
  const EngineOptions& options_;
  ClusterLedger ledger_;
  RunResult result_;
  UtilisationSeries use_;
  EndQueue ends_;
  EndQueue ages_;  // when waiting jobs will have waited too long, if that is limited
  AgedJobs aged_;
  std::deque<TimeNs> protected_;                   // ends of minimum run times
  IndexedVector<MachineIndex, int> machine_gpus_;  // whatever was withheld of them since
  std::vector<int> capacities_;                    // by type of device, with every machine up
  std::size_t price_ = 0;                          // of EngineOptions::prices, that holds now
  std::vector<MachineChange> outages_;
  std::size_t change_ = 0;
  TimeNs round_ns_ = 0;
  JobIndex arrived_{0};      // the first that has not
  std::int32_t active_ = 0;  // arrived and not ended
  std::int32_t running_ = 0;
  bool stalled_ = false;  // asked without an event, and nothing was decided
  bool machines_changed_ = false;
  std::vector<JobIndex> event_arrived_, event_ended_, event_evicted_, event_withdrawn_;
  std::vector<Decision> decisions_;
  std::vector<Quota> quotas_;                    // by tenant, if there are any
  IndexedVector<JobIndex, TimeNs> done_before_;  // if invariants are checked
  // If holdings are kept: since when it has the GPUs it has.
  struct Held {
    TimeNs since_ns = 0;
    JobIndex beside = schedule::kNoJob;
    std::int64_t number = 0;
  };
  IndexedVector<JobIndex, Held> held_;
  std::int64_t starts_ = 0;
};

}  // namespace

std::vector<Outage> random_outages(std::size_t machines, double mean_time_between_s, double mean_repair_s, TimeNs until,
                                   std::uint64_t seed) {
  std::vector<Outage> outages;
  for (const MachineIndex machine : IndexRange<MachineIndex>(machines)) {
    Random random = Random(seed).split("outages").split(machine.place());
    double at_s = random.exponential(mean_time_between_s);
    while (at_s < schedule::to_seconds(until)) {
      // At least a millisecond, so that a machine is never down and up at one instant.
      const double repaired_s = at_s + std::max(1e-3, random.exponential(mean_repair_s));
      outages.push_back({schedule::from_seconds(at_s), schedule::from_seconds(repaired_s), machine});
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

Result<RunResult> simulate(const JobTrace& job_trace, const schedule::Machines& machines, const SpeedModel& speed,
                           const std::function<Result<std::unique_ptr<Policy>>(const schedule::ClusterView&)>& policy,
                           const EngineOptions& options) {
  Engine engine(job_trace, machines, speed, options);
  ORRERY_TRY(const std::unique_ptr<Policy> made, policy(engine.view()));
  return engine.run(*made);
}

}  // namespace orrery::simulate
