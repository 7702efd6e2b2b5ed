#include "service/simulate_estimate.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "simulate/estimate/duration_history.h"

namespace orrery::service {

using simulate::QueuedJob;
using simulate::StartEstimate;

const Fields<EstimateRequest>& estimate_fields() {
  using E = EstimateRequest;
  static const auto kFields =
      Fields<E>()
          .add(&E::queue, text_option("queue", "", "jobs that wait and run, as a job trace or as Slurm shows them")
                              .in("QUEUE")
                              .required()
                              .word())
          .add(&E::history, text_option("history", "",
                                        "job trace of finished jobs; run times are drawn from similar jobs (default: "
                                        "from duration_s and --error)")
                                .in("TRACE"))
          .add(&E::error,
               number_option("error", 0.5, "error of duration_s: standard deviation of its logarithm").bounds(0.001, 5))
          .add(&E::explain, text_option("explain", "", "explain what this job waits for and what would help").in("JOB"))
          .add(&E::replay,
               optional_integer("replay",
                                "QUEUE is a job trace: estimate this many of its jobs at their submission, and score "
                                "the estimates against what happened")
                   .bounds(1, 1e6))
          .add(&E::draws, integer_option("draws", 100, "simulations, each with other random run times").bounds(1, 1e5))
          .add(&E::threads, integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256))
          .add(&E::seed, integer_option("seed", 1, "seed of the run times").bounds(0, 1e15))
          .add(&E::on, simulated_cluster_fields())
          .add(&E::read, job_trace_fields());
  return kFields;
}

namespace {

// Evenly spread over a log-logistic distribution around a duration: close to log-normal, with a simple inverse.
std::shared_ptr<const simulate::RunTimes> spread_around(double duration_s, double sigma) {
  constexpr int kPoints = 200;
  std::vector<double> durations;
  for (int i = 0; i < kPoints; ++i) {
    // Of this scale, its logarithm has the standard deviation sigma.
    const double share = (i + 0.5) / kPoints;
    constexpr double kPi = 3.14159265358979323846;
    durations.push_back(duration_s * std::exp(sigma * std::sqrt(3.0) / kPi * std::log(share / (1 - share))));
  }
  return std::make_shared<const simulate::RunTimes>(simulate::RunTimes{durations, {durations}, duration_s});
}

// Durations of a trace by the names of its tenants, which the queue numbers differently.
simulate::DurationHistory durations_of(const simulate::JobTrace& trace, const std::vector<std::string>& tenants) {
  simulate::DurationHistory history;
  for (const simulate::TraceJob& job : trace.jobs) {
    // What it has run so far is not how long it runs.
    if (job.state == simulate::QueueState::kRuns) continue;
    simulate::JobFacts facts = job.facts;
    const std::string& tenant = trace.tenants[static_cast<std::size_t>(facts.tenant)];
    const auto found = std::find(tenants.begin(), tenants.end(), tenant);
    facts.tenant = found == tenants.end() ? -1 : static_cast<std::int32_t>(found - tenants.begin());
    history.add(facts, schedule::to_seconds(facts.work_ns));
  }
  return history;
}

// What is known of how long jobs run; no value if that is only what the queue says of each.
Result<std::optional<simulate::DurationHistory>> load_history(env::Env env, const EstimateRequest& request,
                                                              Queue& queue) {
  if (request.history.empty()) return std::optional<simulate::DurationHistory>();
  ORRERY_TRY(simulate::JobTraceFile past, load_job_trace(env, request.history, request.read));
  simulate::DurationHistory history = durations_of(past.job_trace, queue.job_trace.tenants);
  if (history.empty()) return request.names.error("history", "no job of it has ended");
  queue.history = std::move(past.job_trace);
  for (const simulate::TraceJob& job : queue.job_trace.jobs) {
    if (job.executed_ns == 0) continue;
    // The queue is later than its history, whatever its clock says.
    simulate::JobFacts facts = job.facts;
    facts.submit_ns = schedule::kNever;
    history.add_running(facts, schedule::to_seconds(job.executed_ns));
  }
  return std::optional(std::move(history));
}

Result<Queue> read_queue(env::Env env, const EstimateRequest& request) {
  ORRERY_TRY(simulate::JobTraceFile file, load_queue(env, request.queue, request.read));
  constexpr std::size_t kProblemsShown = 5;
  const std::string problems = problems_text(file, kProblemsShown);
  Queue queue{.job_trace = std::move(file.job_trace), .jobs = {}, .ended = file.ended, .problems = problems};
  ORRERY_TRY(const auto history, load_history(env, request, queue));
  for (const simulate::TraceJob& job : queue.job_trace.jobs) {
    if (!history && job.facts.work_ns == 0) {
      return Error::invalid(
          fmt::format("{}: nothing says how long job {} runs; add Timelimit to sacct's --format, or give {}",
                      request.queue, quote(job.id), request.names("history")));
    }
    QueuedJob queued{job, schedule::to_seconds(job.executed_ns), nullptr};
    queued.times =
        history ? history->alike(job.facts) : spread_around(schedule::to_seconds(job.facts.work_ns), request.error);
    queue.jobs.push_back(std::move(queued));
  }
  return queue;
}

// Jobs that run hold GPUs of the cluster, so they cannot hold more than it has.
Status check_running(const Queue& queue, const ClusterChoice& cluster, const FieldNames& names) {
  std::int64_t held = 0;
  for (const QueuedJob& job : queue.jobs) held += job.executed_s > 0 ? job.job.facts.gpus : 0;
  if (held <= cluster.gpus) return {};
  return names.error("cluster", fmt::format("the jobs that run hold {} GPUs, {} has {}; give the cluster they run on",
                                            held, cluster.text, cluster.gpus));
}

// The queue after one change.
struct Change {
  std::string what;
  std::vector<QueuedJob> jobs;
  simulate::RunSetup setup;
  std::string policy;
};

std::vector<Change> changes_that_may_help(const Queue& queue, const simulate::RunSetup& setup,
                                          const std::string& policy, std::size_t job) {
  std::vector<Change> all;
  const int gpus = queue.jobs[job].job.facts.gpus;
  if (gpus > 1) {
    Change smaller{fmt::format("asking for {} GPUs instead of {}, and taking twice as long", gpus / 2, gpus),
                   queue.jobs, setup, policy};
    smaller.jobs[job].job.facts.gpus = gpus / 2;
    simulate::RunTimes twice = *queue.jobs[job].times;
    for (double& duration : twice.all) duration *= 2;
    for (std::vector<double>& period : twice.periods) {
      for (double& duration : period) duration *= 2;
    }
    smaller.jobs[job].times = std::make_shared<const simulate::RunTimes>(std::move(twice));
    all.push_back(std::move(smaller));
  }
  Change larger{"one more machine", queue.jobs, setup, policy};
  larger.setup.machines.push_back(setup.machines.front());
  larger.setup.machines.back().free = larger.setup.machines.back().gpus;
  all.push_back(std::move(larger));
  for (const char* const other : {"first-fit", "sjf"}) {
    if (policy != other) all.push_back({fmt::format("policy {}", other), queue.jobs, setup, other});
  }
  return all;
}

simulate::EstimateOptions estimate_options(const EstimateRequest& request) {
  return {.draws = request.draws, .seed = request.seed, .threads = request.threads};
}

// How long each waiting job would still wait if it waited as long as the one that started last. Other starts of the
// past are not in a queue.
std::vector<simulate::QueuePace> paces_of(const Queue& queue) {
  double now_s = 0;
  for (const QueuedJob& job : queue.jobs) {
    now_s = std::max(now_s, schedule::to_seconds(job.job.facts.submit_ns) + job.executed_s);
  }
  const auto waited_s = [&](const QueuedJob& job) {
    return now_s - job.executed_s - schedule::to_seconds(job.job.facts.submit_ns);
  };
  const QueuedJob* last = nullptr;
  for (const QueuedJob& job : queue.jobs) {
    if (job.executed_s > 0 && (last == nullptr || job.executed_s < last->executed_s)) last = &job;
  }
  std::vector<simulate::QueuePace> paces(queue.jobs.size());
  for (std::size_t j = 0; last != nullptr && j < queue.jobs.size(); ++j) {
    if (queue.jobs[j].executed_s == 0) paces[j].last_s = std::max(0.0, waited_s(*last) - waited_s(queue.jobs[j]));
  }
  return paces;
}

// What a replay of the history shows about estimates: the weight of the pace of the queue, and how much wider than the
// draws intervals have to be.
struct Lesson {
  std::optional<simulate::PaceMixer> mixer{};  // empty: nothing was learned
  double stretch = 1;
  std::vector<simulate::QueuePace> paces{};
};

Lesson learned_from(const Queue& queue, const simulate::RunSetup& setup, const EstimateRequest& request) {
  if (!queue.history) return {};
  constexpr std::size_t kCases = 200;
  const auto cases =
      simulate::replay_starts(*queue.history, setup, request.on.policy, kCases, estimate_options(request));
  // Where no job waited, or jobs were suspended, nothing can be learned.
  if (!cases) return {};
  return {simulate::mixer_of(*cases), std::max(1.0, simulate::stretch_of(*cases, simulate::EstimateOptions{}.level)),
          paces_of(queue)};
}

void apply(const Lesson& lesson, const Queue& queue, std::vector<StartEstimate>& estimates) {
  if (!lesson.mixer) return;
  const double level = simulate::EstimateOptions{}.level;
  for (std::size_t j = 0; j < estimates.size(); ++j) {
    StartEstimate& one = estimates[j];
    if (one.never) continue;
    if (queue.jobs[j].executed_s > 0) {
      one.end_s = simulate::stretched(one.end_s, lesson.stretch);
      continue;
    }
    const double by = lesson.mixer->shift(one.start_s.middle, lesson.paces[j]);
    const double middle_s = simulate::PaceMixer::moved_s(one.start_s.middle, by);
    simulate::move_starts(one, level, [&](double start_s) {
      return simulate::stretched_wait_s(simulate::PaceMixer::moved_s(start_s, by), middle_s, lesson.stretch);
    });
  }
}

// How full the cluster is, and what stands in front of the job.
StartExplanation place_in_queue(const Queue& queue, const simulate::RunSetup& setup, std::size_t job) {
  StartExplanation place{.job = job};
  int busy = 0;
  for (const schedule::MachineView& machine : setup.machines) place.gpus += machine.gpus;
  for (std::size_t j = 0; j < queue.jobs.size(); ++j) {
    const int gpus = queue.jobs[j].job.facts.gpus;
    if (queue.jobs[j].executed_s > 0) {
      busy += gpus;
    } else if (j < job) {
      ++place.waiting_before;
      place.waiting_gpus += gpus;
    }
  }
  place.gpus_free = std::max(0, place.gpus - busy);
  return place;
}

// The changes under which the job starts earlier, each estimated as the queue itself was.
std::vector<Remedy> remedies(const Queue& queue, const simulate::RunSetup& setup, const EstimateRequest& request,
                             const Lesson& lesson, std::size_t job, double start_s) {
  std::vector<Remedy> all;
  for (const Change& change : changes_that_may_help(queue, setup, request.on.policy, job)) {
    auto tried =
        simulate::estimate_starts(change.jobs, queue.job_trace, change.setup, change.policy, estimate_options(request));
    if (!tried) continue;
    apply(lesson, queue, *tried);
    const StartEstimate& then = (*tried)[job];
    if (!then.never && then.start_s.middle < start_s) all.push_back({change.what, then.start_s.middle});
  }
  return all;
}

Result<std::optional<std::size_t>> asked_job(const Queue& queue, const EstimateRequest& request) {
  if (request.explain.empty()) return std::optional<std::size_t>();
  const auto found = std::ranges::find(queue.jobs, request.explain, [](const QueuedJob& job) { return job.job.id; });
  if (found == queue.jobs.end()) {
    return request.names.error("explain",
                               Error::not_found(fmt::format("no job {} in the queue", quote(request.explain))));
  }
  return std::optional(static_cast<std::size_t>(found - queue.jobs.begin()));
}

Status check_inputs(const EstimateRequest& request) {
  if (request.on.setup.inputs == JobInputs::kTrace) return {};
  return request.names.error("inputs", "is of simulations of a whole trace; here policies know what is drawn");
}

}  // namespace

Result<EstimateAnswer> estimate(env::Env env, const EstimateRequest& request) {
  const FieldNames& names = request.names;
  ORRERY_TRY_VOID(check_inputs(request));
  ORRERY_TRY(Queue queue, read_queue(env, request));
  ORRERY_TRY(ClusterChoice cluster, load_cluster(env, request.on.cluster, names));
  ORRERY_TRY(const SimulationSetup setups, load_setup(env, request.on.setup, cluster, queue.job_trace, names));
  ORRERY_TRY_VOID(check_running(queue, cluster, names));
  ORRERY_TRY(const std::optional<std::size_t> asked, asked_job(queue, request));
  const simulate::RunSetup& setup = setups.base;
  ORRERY_TRY(
      std::vector<StartEstimate> estimates,
      simulate::estimate_starts(queue.jobs, queue.job_trace, setup, request.on.policy, estimate_options(request)));
  EstimateAnswer answer{std::move(queue), std::move(cluster), std::move(estimates)};
  // Before what was learned moves starts and ends apart.
  constexpr std::size_t kShown = 3;
  std::vector<simulate::WaitedFor> blockers;
  if (asked) blockers = simulate::waits_for(answer.estimates, *asked, kShown);
  const Lesson lesson = learned_from(answer.queue, setup, request);
  apply(lesson, answer.queue, answer.estimates);
  if (!asked) return answer;
  answer.explanation = place_in_queue(answer.queue, setup, *asked);
  const StartEstimate& one = answer.estimates[*asked];
  if (answer.queue.jobs[*asked].executed_s > 0 || one.never) return answer;
  answer.explanation->blockers = std::move(blockers);
  answer.explanation->remedies = remedies(answer.queue, setup, request, lesson, *asked, one.start_s.middle);
  return answer;
}

Result<ReplayAnswer> replay_estimates(env::Env env, const EstimateRequest& request) {
  const FieldNames& names = request.names;
  if (!request.explain.empty() || !request.history.empty()) {
    return names.error("replay", fmt::format("learns from the trace itself, and explains no job; leave out {} and {}",
                                             names("history"), names("explain")));
  }
  ORRERY_TRY_VOID(check_inputs(request));
  ORRERY_TRY(const simulate::JobTraceFile file, load_job_trace(env, request.queue, request.read));
  ORRERY_TRY(ClusterChoice cluster, load_cluster(env, request.on.cluster, names));
  ORRERY_TRY(const SimulationSetup setups, load_setup(env, request.on.setup, cluster, file.job_trace, names));
  ORRERY_TRY(const std::vector<simulate::StartCase> cases,
             simulate::replay_starts(file.job_trace, setups.base, request.on.policy,
                                     static_cast<std::size_t>(*request.replay), estimate_options(request)));
  return ReplayAnswer{file.job_trace.name, std::move(cluster), simulate::score_of(cases)};
}

}  // namespace orrery::service
