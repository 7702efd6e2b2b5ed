#include "simulate/estimate/start_replay.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/parallel.h"
#include "base/random.h"
#include "base/statistics.h"

namespace orrery::simulate {

namespace {

// What was known when a job was submitted: it is the last of `jobs`.
struct Snapshot {
  JobIndex job{};
  std::vector<QueuedJob> jobs;
  QueuePace pace;
};

// Goes through a run in the order of submissions.
class Past {
 public:
  Past(const JobTrace& job_trace, const RunResult& run) : job_trace_(job_trace), run_(run) {
    for (const JobIndex job : run.jobs.indices()) {
      if (outcome(job).end_ns != kNever) by_end_.push_back(job);
    }
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [&](JobIndex a, JobIndex b) { return outcome(a).end_ns < outcome(b).end_ns; });
    by_start_ = by_end_;
    std::sort(by_start_.begin(), by_start_.end(), [&](JobIndex a, JobIndex b) {
      return std::pair(outcome(a).first_start_ns, a) < std::pair(outcome(b).first_start_ns, b);
    });
  }

  // The job is submitted now.
  void submit(JobIndex job) {
    const TimeNs now = facts(job).submit_ns;
    for (; next_end_ < by_end_.size() && outcome(by_end_[next_end_]).end_ns <= now; ++next_end_) {
      const JobIndex ended = by_end_[next_end_];
      history_.add(facts(ended), schedule::to_seconds(outcome(ended).end_ns - outcome(ended).first_start_ns));
    }
    while (started_.size() < by_start_.size()) {
      const JobIndex next = by_start_[started_.size()];
      const TimeNs start = outcome(next).first_start_ns;
      if (start > now || next == job) break;
      started_.push_back(
          {schedule::to_seconds(start), schedule::to_seconds(start - facts(next).submit_ns), facts(next).gpus});
    }
    std::erase_if(there_, [&](JobIndex one) { return outcome(one).end_ns <= now; });
    if (outcome(job).end_ns != kNever) there_.push_back(job);
  }

  bool knows_anything() const { return !history_.empty(); }

  Snapshot snapshot() const {
    Snapshot snapshot;
    snapshot.job = there_.back();
    const TimeNs now = facts(snapshot.job).submit_ns;
    DurationHistory known = history_;
    int waiting_gpus = 0;
    for (const JobIndex job : there_) {
      const bool runs = outcome(job).first_start_ns <= now && job != snapshot.job;
      // One that started this instant runs, too.
      const double executed = runs ? std::max(1e-9, schedule::to_seconds(now - outcome(job).first_start_ns)) : 0;
      if (runs) known.add_running(facts(job), executed);
      if (!runs) waiting_gpus += facts(job).gpus;
      snapshot.jobs.push_back({job_trace_.jobs[job], executed, nullptr});
    }
    for (QueuedJob& job : snapshot.jobs) {
      job.times = known.alike(job.job.facts);
      job.usual_s = known.mean_s(job.job.facts);
    }
    snapshot.pace = pace_of(started_, schedule::to_seconds(now), waiting_gpus);
    return snapshot;
  }

 private:
  const JobOutcome& outcome(JobIndex job) const { return run_.jobs[job]; }
  const JobFacts& facts(JobIndex job) const { return job_trace_.jobs[job].facts; }

  const JobTrace& job_trace_;
  const RunResult& run_;
  std::vector<JobIndex> by_end_, by_start_;
  std::size_t next_end_ = 0;
  std::vector<JobIndex> there_;  // waiting or running, in the order of submission
  DurationHistory history_;
  std::vector<Started> started_;
};

Result<StartCase> make_case(const Snapshot& snapshot, const JobTrace& job_trace, const RunSetup& setup,
                            const std::string& policy, const EstimateOptions& options) {
  StartCase one{.job = snapshot.job};
  ORRERY_TRY(const std::vector<StartEstimate> estimates,
             estimate_starts(snapshot.jobs, job_trace, setup, policy, options));
  one.drawn_s = estimates.back().start_s;
  one.pace = snapshot.pace;
  std::vector<QueuedJob> by_mean = snapshot.jobs;
  for (std::size_t j = 0; j < by_mean.size(); ++j) {
    // A job that has run longer than the mean is assumed to end soon.
    by_mean[j].times = certain_run_time(std::max(by_mean[j].usual_s, by_mean[j].executed_s + 1));
  }
  ORRERY_TRY(const RunResult run, run_queue(by_mean, job_trace, setup, policy, 1 - 1e-9));
  one.by_mean_s = schedule::to_seconds(run.jobs.back().first_start_ns);
  return one;
}

double log_wait(double seconds) {
  return std::log1p(std::max(0.0, seconds));
}

// How far the truth is from the middle, in widths of the interval on that side.
double distance(const StartCase& one) {
  constexpr double kWidthMin = 0.05;
  const Quantiles& interval = one.mixed_s;
  const double middle = log_wait(interval.middle), truth = log_wait(one.waited_s);
  const double width = truth > middle ? log_wait(interval.high) - middle : middle - log_wait(interval.low);
  return std::abs(truth - middle) / std::max(kWidthMin, width);
}

// Each by the cases that had happened before it was submitted. Precondition: in order of submission.
void stretch_each(std::vector<StartCase>& cases, double level) {
  constexpr double kStep = 0.02, kLevelMin = 0.5, kLevelMax = 0.99;
  for (StartCase& one : cases) {
    std::vector<StartCase> known;
    double asked = level;
    for (const StartCase& other : cases) {
      if (other.submit_s >= one.submit_s) break;
      if (other.submit_s + other.waited_s > one.submit_s) continue;
      known.push_back(other);
      asked += kStep * (other.is_inside() ? level - 1 : level);
    }
    const std::size_t last = std::min(known.size(), PaceMixer::kRemembered);
    one.stretch = stretch_of(std::span(known).last(last), std::clamp(asked, kLevelMin, kLevelMax));
    one.mixed_s = mixer_of(known).mixed(one.drawn_s, one.pace);
    one.estimate_s = stretched(one.mixed_s, one.stretch);
  }
}

}  // namespace

PaceMixer mixer_of(std::span<const StartCase> cases) {
  PaceMixer mixer;
  for (const StartCase& one : cases) mixer.learn(one.drawn_s.middle, one.pace, one.waited_s);
  return mixer;
}

double stretch_of(std::span<const StartCase> cases, double level) {
  constexpr std::size_t kCasesMin = 20;
  if (cases.size() < kCasesMin) return 1;
  std::vector<double> distances;
  for (const StartCase& one : cases) distances.push_back(distance(one));
  // Conformal: of n cases and a new one.
  const double share = level * (1 + 1 / static_cast<double>(distances.size()));
  return quantile(distances, std::min(1.0, share));
}

double stretched_wait_s(double wait_s, double middle_s, double stretch) {
  const double middle = log_wait(middle_s);
  return std::max(0.0, std::expm1(middle + stretch * (log_wait(wait_s) - middle)));
}

Quantiles stretched(const Quantiles& interval, double stretch) {
  return {stretched_wait_s(interval.low, interval.middle, stretch), interval.middle,
          stretched_wait_s(interval.high, interval.middle, stretch)};
}

Result<std::vector<StartCase>> replay_starts(const JobTrace& job_trace, const RunSetup& setup,
                                             const std::string& policy, std::size_t cases,
                                             const EstimateOptions& options) {
  ORRERY_TRY(const RunResult run, run_policy(job_trace, setup, policy));
  std::vector<JobIndex> waited;
  for (const JobIndex job : run.jobs.indices()) {
    const JobOutcome& outcome = run.jobs[job];
    if (outcome.starts > 1 || outcome.moves > 0) {
      return Error::invalid(fmt::format("{} suspends or moves jobs; a replay needs a policy that does not", policy));
    }
    const bool is_late = outcome.end_ns != kNever && 10 * job.place() > run.jobs.size();
    const bool is_watched = outcome.first_start_ns <= job_trace.jobs.back().facts.submit_ns;
    if (is_late && is_watched &&
        outcome.first_start_ns - job_trace.jobs[job].facts.submit_ns >= schedule::from_seconds(kWaitMinSeconds)) {
      waited.push_back(job);
    }
  }
  if (waited.empty())
    return Error::infeasible(fmt::format("no job waits for {:.0f} s under {}", kWaitMinSeconds, policy));
  Random random = Random(options.seed).split("cases");
  while (waited.size() > cases) waited.erase(waited.begin() + static_cast<std::ptrdiff_t>(random.below(waited.size())));

  std::vector<Snapshot> snapshots;
  Past past(job_trace, run);
  auto next = waited.begin();
  for (const JobIndex job : run.jobs.indices()) {
    if (next == waited.end()) break;
    past.submit(job);
    if (job != *next) continue;
    ++next;
    if (past.knows_anything()) snapshots.push_back(past.snapshot());
  }
  std::vector<StartCase> done(snapshots.size());
  std::vector<Status> statuses(snapshots.size());
  EstimateOptions alone = options;
  alone.threads = 1;
  run_parallel(snapshots.size(), options.threads, [&](std::size_t i) {
    auto one = make_case(snapshots[i], job_trace, setup, policy, alone);
    if (!one) {
      statuses[i] = std::move(one).error();
      return;
    }
    one->submit_s = schedule::to_seconds(job_trace.jobs[one->job].facts.submit_ns);
    one->waited_s = schedule::to_seconds(run.jobs[one->job].first_start_ns) - one->submit_s;
    done[i] = *one;
  });
  for (const Status& status : statuses) ORRERY_TRY_VOID(status);
  stretch_each(done, options.level);
  return done;
}

StartScore score_of(const std::vector<StartCase>& cases) {
  std::vector<double> errors, by_mean, waited;
  std::size_t inside = 0;
  for (const StartCase& one : cases) {
    errors.push_back(std::abs(one.estimate_s.middle - one.waited_s));
    by_mean.push_back(std::abs(one.by_mean_s - one.waited_s));
    waited.push_back(one.waited_s);
    inside += one.is_inside() ? 1U : 0U;
  }
  return {cases.size(), median(errors), median(by_mean), median(waited),
          static_cast<double>(inside) / static_cast<double>(cases.size())};
}

}  // namespace orrery::simulate
