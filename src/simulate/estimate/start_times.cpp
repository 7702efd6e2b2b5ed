#include "simulate/estimate/start_times.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/parallel.h"
#include "base/random.h"
#include "base/statistics.h"

namespace orrery::simulate {

namespace {

constexpr double kLeastSeconds = 1e-3;
// Running jobs keep their GPUs: the policy sees the waiting jobs only after these have started. The answers count from
// now.
constexpr TimeNs kSubmittedAt = 1;

// The queue as a job trace: running jobs come first. `place` maps jobs to places.
struct Forward {
  JobTrace job_trace;
  IndexedVector<JobIndex, std::size_t> place;
  RunSetup setup;
};

Forward make_forward(const std::vector<QueuedJob>& jobs, const JobTrace& like, const RunSetup& setup) {
  Forward forward;
  forward.setup = setup;
  forward.job_trace.tenants = like.tenants;
  forward.job_trace.devices = like.devices;
  forward.job_trace.speeds = like.speeds;
  for (std::size_t j = 0; j < jobs.size(); ++j) forward.place.push_back(j);
  std::stable_partition(forward.place.begin(), forward.place.end(),
                        [&](std::size_t j) { return jobs[j].executed_s > 0; });
  for (const std::size_t j : forward.place) {
    TraceJob job = jobs[j].job;
    job.facts.submit_ns = jobs[j].executed_s > 0 ? 0 : kSubmittedAt;
    forward.job_trace.jobs.push_back(std::move(job));
    const double expected = longer_than(jobs[j].times->all, jobs[j].executed_s, 0.5) - jobs[j].executed_s;
    forward.setup.engine.predicted_ns.push_back(schedule::from_seconds(std::max(kLeastSeconds, expected)));
  }
  return forward;
}

// With one run time for every job, given by `draw`.
template <class Draw>
Result<RunResult> run_with(Forward forward, const std::vector<QueuedJob>& jobs, const std::string& policy, Draw draw) {
  for (const JobIndex i : forward.place.indices()) {
    const QueuedJob& job = jobs[forward.place[i]];
    const double left = draw(forward.place[i]) - job.executed_s;
    const double bounded = std::clamp(left, kLeastSeconds, schedule::kSecondsMax / 1e3);
    forward.job_trace.jobs[i].facts.work_ns = schedule::from_seconds(bounded);
  }
  ORRERY_TRY(RunResult run, run_policy(forward.job_trace, forward.setup, policy));
  IndexedVector<JobIndex, JobOutcome> outcomes(jobs.size());
  for (const JobIndex i : forward.place.indices()) {
    JobOutcome& outcome = outcomes[JobIndex(forward.place[i])] = run.jobs[i];
    if (outcome.end_ns == kNever) continue;
    outcome.first_start_ns = std::max<TimeNs>(0, outcome.first_start_ns - kSubmittedAt);
    outcome.end_ns -= kSubmittedAt;
  }
  run.jobs = std::move(outcomes);
  return run;
}

Quantiles quantiles_of(const std::vector<double>& values, double level) {
  return {quantile(values, (1 - level) / 2), median(values), quantile(values, (1 + level) / 2)};
}

}  // namespace

Result<RunResult> run_queue(const std::vector<QueuedJob>& jobs, const JobTrace& like, const RunSetup& setup,
                            const std::string& policy, double share) {
  return run_with(make_forward(jobs, like, setup), jobs, policy,
                  [&](std::size_t j) { return longer_than(jobs[j].times->all, jobs[j].executed_s, share); });
}

Result<std::vector<StartEstimate>> estimate_starts(const std::vector<QueuedJob>& jobs, const JobTrace& like,
                                                   const RunSetup& setup, const std::string& policy,
                                                   const EstimateOptions& options) {
  const Forward forward = make_forward(jobs, like, setup);
  const Random random = Random(options.seed).split("durations");
  const auto draws = static_cast<std::size_t>(options.draws);
  std::vector<std::vector<JobOutcome>> outcomes(draws);
  std::vector<Status> done(draws);
  run_parallel(draws, options.threads, [&](std::size_t draw) {
    const Random of_draw = random.split(draw);
    const double when = of_draw.split("stretch").uniform();
    auto run = run_with(forward, jobs, policy, [&](std::size_t j) {
      const auto& periods = jobs[j].times->periods;
      const auto period = static_cast<std::size_t>(when * static_cast<double>(periods.size()));
      return longer_than(periods[period], jobs[j].executed_s, of_draw.split(j).uniform());
    });
    if (run) {
      outcomes[draw] = std::move(run->jobs);
    } else {
      done[draw] = std::move(run).error();
    }
  });
  for (const Status& status : done) ORRERY_TRY_VOID(status);
  std::vector<StartEstimate> estimates(jobs.size());
  std::vector<double> starts(draws), ends(draws);
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    for (std::size_t draw = 0; draw < draws; ++draw) {
      const JobOutcome& outcome = outcomes[draw][j];
      estimates[j].never = estimates[j].never || outcome.end_ns == kNever;
      starts[draw] = schedule::to_seconds(outcome.first_start_ns);
      ends[draw] = schedule::to_seconds(outcome.end_ns);
    }
    if (estimates[j].never) continue;
    estimates[j].starts_s = starts;
    estimates[j].ends_s = ends;
    estimates[j].start_s = quantiles_of(starts, options.level);
    estimates[j].end_s = quantiles_of(ends, options.level);
  }
  return estimates;
}

std::vector<WaitedFor> waits_for(const std::vector<StartEstimate>& estimates, std::size_t job, std::size_t most) {
  const std::vector<double>& starts = estimates[job].starts_s;
  std::map<std::size_t, double> draws;  // in which the job was the last
  for (std::size_t draw = 0; draw < starts.size(); ++draw) {
    std::optional<std::size_t> last;
    for (std::size_t j = 0; j < estimates.size(); ++j) {
      if (j == job || estimates[j].ends_s.empty() || estimates[j].ends_s[draw] > starts[draw]) continue;
      if (!last || estimates[j].ends_s[draw] > estimates[*last].ends_s[draw]) last = j;
    }
    if (last) ++draws[*last];
  }
  std::vector<WaitedFor> all;
  for (const auto& [other, count] : draws) all.push_back({other, count / static_cast<double>(starts.size())});
  std::stable_sort(all.begin(), all.end(), [](const WaitedFor& a, const WaitedFor& b) { return a.share > b.share; });
  all.resize(std::min(all.size(), most));
  return all;
}

void move_starts(StartEstimate& estimate, double level, const std::function<double(double)>& later) {
  for (std::size_t draw = 0; draw < estimate.starts_s.size(); ++draw) {
    const double moved = later(estimate.starts_s[draw]);
    estimate.ends_s[draw] += moved - estimate.starts_s[draw];
    estimate.starts_s[draw] = moved;
  }
  estimate.start_s = quantiles_of(estimate.starts_s, level);
  estimate.end_s = quantiles_of(estimate.ends_s, level);
}

}  // namespace orrery::simulate
