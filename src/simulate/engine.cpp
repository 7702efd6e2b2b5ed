#include "simulate/engine.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/random.h"
#include "schedule/time_queue.h"
#include "simulate/utilisation_series.h"

namespace orrery::simulate {

namespace {

using schedule::Change;
using schedule::Dispatcher;

schedule::DispatchOptions dispatch_options(const EngineOptions& options) {
  return {.costs = options.costs,
          .tenant_quota = options.tenant_quota,
          .age_ns = options.age_ns,
          .min_run_ns = options.min_run_ns,
          .round_ns = options.round_ns,
          .speeds = options.speeds,
          .keep_log = options.keep_log,
          .is_strict = true};
}

class Engine {
 public:
  Engine(const JobTrace& job_trace, const schedule::Machines& machines, const SpeedModel& speed,
         const EngineOptions& options)
      : job_trace_(job_trace),
        speed_(speed),
        options_(options),
        dispatcher_(machines, dispatch_options(options)),
        ledger_(dispatcher_.ledger()),
        prediction_(Random(options.seed).split("prediction")),
        count_(job_trace.jobs.size()) {
    ledger_.reserve_jobs(count_);
    result_.jobs.resize(count_);
    if (options.keep_holdings) held_.resize(count_);
    next_submission_ns_ = next_submission();
    static const JobCurves kNone;
    if (options.live)
      live_.emplace(job_trace, options.predicted == nullptr ? kNone : *options.predicted, *options.live);
    for (const Outage& outage : options.outages) {
      outages_.push_back({outage.fails_ns, false, outage.machine, outage.is_announced});
      if (outage.returns_ns != kNever) outages_.push_back({outage.returns_ns, true, outage.machine, false});
    }
    std::stable_sort(outages_.begin(), outages_.end(), [](const MachineChange& a, const MachineChange& b) {
      return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.up > b.up;
    });
  }

  Result<RunResult> run(const schedule::PolicyMaker& policy) {
    ORRERY_TRY_VOID(dispatcher_.set_policy(policy));
    result_.policy = dispatcher_.policy().name();
    while (true) {
      const TimeNs next = next_event();
      if (next == kNever) break;
      advance_to(next);
      end_jobs();
      change_machines();
      arrive();
      carry_out();
      if (live_) revise();
      ORRERY_TRY(const bool asked, dispatcher_.step());
      carry_out();
      if (options_.restart_policy) ORRERY_TRY_VOID(restart());
      if (asked) {
        const int running = dispatcher_.running();
        use_.add({next, ledger_.held_gpus(), dispatcher_.active() - running, running, ledger_.stranded_gpus()});
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
    for (const JobIndex job : ledger_.known_jobs()) {
      const TimeNs done = ledger_.done_ns(job);
      if (done < done_before_[job]) return Error::internal(fmt::format("job {}: its work became less", job));
      done_before_[job] = done;
    }
    return {};
  }

  TimeNs true_work(JobIndex job) const { return job_trace_.jobs[job].facts.work_ns; }
  JobOutcome& outcome(JobIndex job) { return result_.jobs[job]; }
  TimeNs next_submission() const {
    return arrived_.place() < count_ ? job_trace_.jobs[arrived_].facts.submit_ns : kNever;
  }

  TimeNs next_event() {
    TimeNs next = kNever;
    if (!ends_.empty()) next = ends_.at_ns();
    if (!revisions_.empty()) next = std::min(next, revisions_.at_ns());
    next = std::min(next, next_submission_ns_);
    const bool jobs_left = next != kNever || dispatcher_.active() > 0;
    next = std::min(next, dispatcher_.due_ns(jobs_left));
    if (jobs_left && change_ < outages_.size()) next = std::min(next, outages_[change_].at_ns);
    // Submission can be before now only by a job list that is not in order, which normalise() rules out.
    return next == kNever ? next : std::max(next, ledger_.now());
  }

  void advance_to(TimeNs next) {
    const double busy = ledger_.held_gpus(), passed = static_cast<double>(next - ledger_.now());
    result_.busy_gpu_ns += busy * passed;
    result_.stranded_gpu_ns += ledger_.stranded_gpus() * passed;
    if (!options_.prices.empty()) pay(next, busy);
    dispatcher_.advance_to(next);
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
      dispatcher_.end(job);
      if (live_) live_->ended(job);
      const schedule::JobProgress& p = ledger_.progress(job);
      JobOutcome& o = outcome(job);
      o.end_ns = ledger_.now();
      o.executed_ns = p.executed_ns;
      o.first_start_ns = p.first_start_ns;
      o.starts = p.starts;
      result_.makespan_ns = ledger_.now();
      // Jobs that shared its GPUs may end now as well, at another rate.
      carry_out();
      if (options_.forget_ended) dispatcher_.forget(job);
    }
  }

  void change_machines() {
    for (; change_ < outages_.size() && outages_[change_].at_ns <= ledger_.now(); ++change_) {
      const MachineChange& change = outages_[change_];
      if (change.up) {
        dispatcher_.restore_machine(change.machine);
      } else {
        dispatcher_.fail_machine(change.machine, change.is_announced);
      }
    }
  }

  void arrive() {
    for (; next_submission_ns_ <= ledger_.now(); next_submission_ns_ = next_submission()) {
      const JobIndex job = arrived_;
      ++arrived_;
      const TimeNs first_start = options_.first_starts.empty() ? 0 : options_.first_starts[job];
      const auto admission = dispatcher_.submit(live_ ? live_->submitted(job) : told(job), first_start);
      if (admission == schedule::Admission::kTooLarge) result_.too_large.push_back(job);
    }
  }

  // What the policy is told of a job.
  JobFacts told(JobIndex job) const {
    JobFacts facts = job_trace_.jobs[job].facts;
    if (!options_.predicted_ns.empty()) {
      facts.work_ns = options_.predicted_ns[job];
    } else if (options_.prediction_sigma > 0) {
      const double factor = std::exp(options_.prediction_sigma * prediction_.split(job.place()).normal());
      facts.work_ns = static_cast<TimeNs>(std::min(static_cast<double>(facts.work_ns) * factor, 4e18));
    }
    return facts;
  }

  // What is known of jobs since now.
  void revise() {
    for (const JobIndex job : live_->take_known()) {
      if (ledger_.progress(job).state != schedule::JobState::kEnded) dispatcher_.revise(job, live_->now(ledger_, job));
    }
    while (!revisions_.empty() && revisions_.at_ns() <= ledger_.now()) {
      const JobIndex job = revisions_.job();
      dispatcher_.revise(job, live_->now(ledger_, job));
      expect_revision(job);
    }
  }

  void expect_revision(JobIndex job) {
    const TimeNs next = live_->next_ns(ledger_, job);
    if (next == kNever) {
      revisions_.remove(job);
    } else {
      revisions_.set(job, std::max(next, ledger_.now() + 1));
    }
  }

  // What the dispatcher has changed happens at once.
  void carry_out() {
    if (!dispatcher_.changes().empty()) carry_out_changes();
  }
  void carry_out_changes() {
    for (const Change& change : dispatcher_.changes()) {
      const JobIndex job = change.job;
      switch (change.kind) {
        case Change::Kind::kReleased:
          keep_holding(job);
          ends_.remove(job);
          if (live_) revisions_.remove(job);
          if (change.is_move) ++outcome(job).moves;
          if (change.by_fault && !done_before_.empty()) done_before_[job] = 0;
          break;
        case Change::Kind::kStarted:
          if (options_.keep_holdings) {
            held_[job] = {ledger_.progress(job).allocation, ledger_.now(), change.beside, starts_++};
          }
          if (options_.stragglers.probability > 0) draw_straggler(job);
          reschedule(job);
          break;
        case Change::Kind::kSpeed:
          if (ledger_.is_running(job)) reschedule(job);
          break;
      }
    }
    dispatcher_.clear_changes();
  }

  Status restart() {
    const std::string bytes = dispatcher_.save_policy();
    const std::size_t jobs = schedule::own_jobs(ledger_).size();
    constexpr std::ptrdiff_t kBytesPerJob = 200;
    const auto more = static_cast<std::ptrdiff_t>(bytes.size()) - kBytesPerJob * static_cast<std::ptrdiff_t>(jobs);
    if (more > result_.state_bytes) {
      result_.state_bytes = more;
      result_.state_jobs = jobs;
    }
    ORRERY_TRY(const bool is_restored, dispatcher_.restart_policy(options_.restart_policy(bytes)));
    if (!is_restored) ++result_.states_refused;
    carry_out();
    return {};
  }

  void draw_straggler(JobIndex job) {
    const schedule::JobProgress& p = ledger_.progress(job);
    Random random =
        Random(options_.seed).split("stragglers").split(job.place()).split(static_cast<std::uint64_t>(p.starts));
    const double none = std::pow(1 - options_.stragglers.probability, schedule::gpus_in(p.allocation));
    if (random.uniform() >= none) ledger_.set_slowest_worker(job, 1 / options_.stragglers.slowdown);
  }

  // The job has given its GPUs back.
  void keep_holding(JobIndex job) {
    if (!options_.keep_holdings) return;
    const Held& held = held_[job];
    for (const schedule::Slice& slice : held.allocation) {
      if (slice.gpus == 0) continue;
      result_.holdings.push_back(
          {job, slice.machine, slice.gpus, held.since_ns, ledger_.now(), held.beside, held.number});
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
    if (live_) expect_revision(job);
    if (!(rate > 0)) {
      ends_.remove(job);
      return;
    }
    const TimeNs left = std::max<TimeNs>(0, true_work(job) - p.done_ns);
    const TimeNs takes = rate == 1 ? left : static_cast<TimeNs>(std::ceil(static_cast<double>(left) / rate));
    ends_.set(job, std::max(ledger_.now(), p.resumes_ns) + takes);
  }

  void finish() {
    for (const JobIndex job : result_.jobs.indices()) {
      const bool ended = job.place() < ledger_.jobs() && ledger_.progress(job).state == schedule::JobState::kEnded;
      const bool refused = std::binary_search(result_.too_large.begin(), result_.too_large.end(), job);
      if (!ended && !refused) result_.unfinished.push_back(job);
    }
    result_.use = std::move(use_).take();
    result_.log = dispatcher_.take_log();
    result_.events = dispatcher_.events();
    result_.decisions = dispatcher_.decisions();
    result_.decision_hash = dispatcher_.decision_hash();
  }

  // If one of the jobs that did not end cannot run on the machines that are up, the others may have to wait behind it.
  // Otherwise the policy left them behind.
  Status check_liveness() const {
    if (result_.unfinished.empty()) return {};
    for (const JobIndex job : result_.unfinished) {
      if (ledger_.facts(job).gpus > dispatcher_.capacity_for(job, true)) return {};
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
  Dispatcher dispatcher_;
  schedule::ClusterLedger& ledger_;  // of the dispatcher
  Random prediction_;
  RunResult result_;
  UtilisationSeries use_;
  schedule::TimeQueue ends_;
  std::optional<LiveInputs> live_;
  schedule::TimeQueue revisions_;  // when more is known of running jobs
  std::size_t price_ = 0;          // of EngineOptions::prices, that holds now
  std::vector<MachineChange> outages_;
  std::size_t change_ = 0;
  std::size_t count_;                            // of jobs
  JobIndex arrived_{0};                          // the first that has not
  TimeNs next_submission_ns_ = kNever;           // its own
  IndexedVector<JobIndex, TimeNs> done_before_;  // if invariants are checked
  // If holdings are kept: the GPUs it has, and since when.
  struct Held {
    schedule::Allocation allocation{};
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
                           const schedule::PolicyMaker& policy, const EngineOptions& options) {
  Engine engine(job_trace, machines, speed, options);
  return engine.run(policy);
}

}  // namespace orrery::simulate
