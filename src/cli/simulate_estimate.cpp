#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/job_traces.h"
#include "cli/simulate_setup.h"
#include "simulate/estimate/duration_history.h"
#include "simulate/estimate/start_replay.h"

namespace orrery::cli {

namespace {

using simulate::QueuedJob;
using simulate::StartEstimate;

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

struct Queue {
  simulate::JobTrace job_trace;
  std::vector<QueuedJob> jobs;
  std::optional<simulate::JobTrace> history{};
  std::size_t ended = 0;   // jobs of the file that have left the queue
  std::string problems{};  // of its rows, for people
};

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

Result<Queue> load_queue(Context& context, const std::string& path, const OptionValues& options) {
  ORRERY_TRY(simulate::JobTraceFile file, load_job_trace(context, path, options, true));
  constexpr std::size_t kProblemsShown = 5;
  const std::string problems = problems_text(file, kProblemsShown);
  Queue queue{.job_trace = std::move(file.job_trace), .jobs = {}, .ended = file.ended, .problems = problems};
  std::optional<simulate::DurationHistory> history;
  if (options.has("history")) {
    ORRERY_TRY(simulate::JobTraceFile past, load_job_trace(context, options.text("history"), options));
    history = durations_of(past.job_trace, queue.job_trace.tenants);
    if (history->empty()) return Error::invalid("--history has no job that has ended");
    queue.history = std::move(past.job_trace);
  }
  for (const simulate::TraceJob& job : queue.job_trace.jobs) {
    if (!history || job.executed_ns == 0) continue;
    // The queue is later than its history, whatever its clock says.
    simulate::JobFacts facts = job.facts;
    facts.submit_ns = schedule::kNever;
    history->add_running(facts, schedule::to_seconds(job.executed_ns));
  }
  for (const simulate::TraceJob& job : queue.job_trace.jobs) {
    if (!history && job.facts.work_ns == 0) {
      return Error::invalid(
          fmt::format("{}: nothing says how long job {} runs; add Timelimit to sacct's --format, or give --history",
                      path, quote(job.id)));
    }
    QueuedJob queued{job, schedule::to_seconds(job.executed_ns), nullptr};
    queued.times = history ? history->alike(job.facts)
                           : spread_around(schedule::to_seconds(job.facts.work_ns), options.number("error"));
    queue.jobs.push_back(std::move(queued));
  }
  return queue;
}

// Jobs that run hold GPUs of the cluster, so they cannot hold more than it has.
Status check_running(const Queue& queue, const ClusterChoice& cluster) {
  std::int64_t held = 0;
  for (const QueuedJob& job : queue.jobs) held += job.executed_s > 0 ? job.job.facts.gpus : 0;
  if (held <= cluster.gpus) return {};
  return Error::invalid(
      fmt::format("the jobs that run hold {} GPUs, {} has {}; give the cluster they run on with --cluster", held,
                  cluster.text, cluster.gpus));
}

std::string time_text(double seconds) {
  return format_seconds(Seconds(seconds));
}

std::string span_text(const simulate::Quantiles& times) {
  return fmt::format("in {} ({} to {})", time_text(times.middle), time_text(times.low), time_text(times.high));
}

// What would let a job start earlier, each estimated as the queue itself is.
struct Remedy {
  std::string what;
  std::vector<QueuedJob> jobs;
  simulate::RunSetup setup;
  std::string policy;
};

std::vector<Remedy> remedies(const Queue& queue, const simulate::RunSetup& setup, const std::string& policy,
                             std::size_t job) {
  std::vector<Remedy> all;
  const int gpus = queue.jobs[job].job.facts.gpus;
  if (gpus > 1) {
    Remedy smaller{fmt::format("asking for {} GPUs instead of {}, and taking twice as long", gpus / 2, gpus),
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
  Remedy larger{"one more machine", queue.jobs, setup, policy};
  larger.setup.machines.push_back(setup.machines.front());
  larger.setup.machines.back().free = larger.setup.machines.back().gpus;
  all.push_back(std::move(larger));
  for (const char* const other : {"first-fit", "sjf"}) {
    if (policy != other) all.push_back({fmt::format("policy {}", other), queue.jobs, setup, other});
  }
  return all;
}

simulate::EstimateOptions estimate_options(const OptionValues& options) {
  return {.draws = static_cast<int>(options.integer("draws")),
          .seed = static_cast<std::uint64_t>(options.integer("seed")),
          .threads = static_cast<int>(options.integer("threads"))};
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

Lesson learned_from(const Queue& queue, const simulate::RunSetup& setup, const OptionValues& options) {
  if (!queue.history) return {};
  constexpr std::size_t kCases = 200;
  const auto cases =
      simulate::replay_starts(*queue.history, setup, options.text("policy"), kCases, estimate_options(options));
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

Status explain(Context& context, const Queue& queue, const simulate::RunSetup& setup, const OptionValues& options,
               const Lesson& lesson, std::size_t job, const std::vector<StartEstimate>& estimates,
               const std::vector<simulate::WaitedFor>& blockers) {
  const StartEstimate& estimate = estimates[job];
  const QueuedJob& asked = queue.jobs[job];
  const std::string& policy = options.text("policy");
  int busy = 0, all = 0, waiting_before = 0, waiting_gpus = 0;
  for (const schedule::MachineView& machine : setup.machines) all += machine.gpus;
  for (std::size_t j = 0; j < queue.jobs.size(); ++j) {
    const int gpus = queue.jobs[j].job.facts.gpus;
    if (queue.jobs[j].executed_s > 0) {
      busy += gpus;
    } else if (j < job) {
      ++waiting_before;
      waiting_gpus += gpus;
    }
  }
  context.print(
      fmt::format("\n{} asks for {} GPUs; {} of {} are free, and {} jobs that ask for {} GPUs came before it.\n",
                  asked.job.id, asked.job.facts.gpus, std::max(0, all - busy), all, waiting_before, waiting_gpus));
  if (asked.executed_s > 0) {
    context.print(fmt::format("It runs, and ends {}.\n", span_text(estimate.end_s)));
    return {};
  }
  if (estimate.never) {
    context.print("It never starts: no set of GPUs of this cluster is large enough, or its policy does not take it.\n");
    return {};
  }
  context.print(fmt::format("It starts {}, and ends {}.\n", span_text(estimate.start_s), span_text(estimate.end_s)));
  for (const simulate::WaitedFor& one : blockers) {
    const QueuedJob& blocker = queue.jobs[one.job];
    context.print(fmt::format(
        "  it waits for {} ({} GPUs, {}), which ends {}: in {:.0f} % of the simulations the last to end before\n",
        blocker.job.id, blocker.job.facts.gpus, blocker.executed_s > 0 ? "running" : "waiting",
        span_text(estimates[one.job].end_s), 100 * one.share));
  }
  for (const Remedy& remedy : remedies(queue, setup, policy, job)) {
    auto tried =
        simulate::estimate_starts(remedy.jobs, queue.job_trace, remedy.setup, remedy.policy, estimate_options(options));
    if (!tried) continue;
    apply(lesson, queue, *tried);
    const StartEstimate& then = (*tried)[job];
    if (then.never || then.start_s.middle >= estimate.start_s.middle) continue;
    context.print(fmt::format("  with {} it would start in {} instead of {}\n", remedy.what,
                              time_text(then.start_s.middle), time_text(estimate.start_s.middle)));
  }
  return {};
}

Table table_of(const Queue& queue, const std::vector<StartEstimate>& estimates) {
  Table table({{"job", "job"},
               {"gpus", "GPUs", CellFormat::kInteger},
               {"state", "state"},
               {"start_s", "starts in", CellFormat::kSeconds},
               {"start_low_s", "from", CellFormat::kSeconds},
               {"start_high_s", "to", CellFormat::kSeconds},
               {"end_s", "ends in", CellFormat::kSeconds},
               {"end_low_s", "from", CellFormat::kSeconds},
               {"end_high_s", "to", CellFormat::kSeconds}});
  for (std::size_t j = 0; j < estimates.size(); ++j) {
    const QueuedJob& job = queue.jobs[j];
    const StartEstimate& one = estimates[j];
    const bool runs = job.executed_s > 0;
    const auto start = [&](double seconds) { return runs || one.never ? Cell() : Cell(seconds); };
    const auto end = [&](double seconds) { return one.never ? Cell() : Cell(seconds); };
    table.add({job.job.id, std::int64_t{job.job.facts.gpus},
               runs        ? "runs"
               : one.never ? "never starts"
                           : "waits",
               start(one.start_s.middle), start(one.start_s.low), start(one.start_s.high), end(one.end_s.middle),
               end(one.end_s.low), end(one.end_s.high)});
  }
  return table;
}

Status run_replay(Context& context, const std::string& path, const OptionValues& options) {
  if (options.has("explain") || options.has("history")) {
    return Error::invalid(
        "--replay learns from the trace itself, and explains no job; leave out --history and --explain");
  }
  ORRERY_TRY(const simulate::JobTraceFile file, load_job_trace(context, path, options));
  ORRERY_TRY(const ClusterChoice cluster, load_cluster(context, options.text("cluster")));
  ORRERY_TRY(const SimulationSetup setups, load_setup(context, options, cluster, file.job_trace));
  ORRERY_TRY(const std::vector<simulate::StartCase> cases,
             simulate::replay_starts(file.job_trace, setups.base, options.text("policy"),
                                     static_cast<std::size_t>(options.integer("replay")), estimate_options(options)));
  const simulate::StartScore score = simulate::score_of(cases);
  Table table({{"cases", "cases", CellFormat::kInteger},
               {"waited_s", "median wait", CellFormat::kSeconds},
               {"error_s", "median error", CellFormat::kSeconds},
               {"by_mean_error_s", "median error by means", CellFormat::kSeconds},
               {"ratio", "of that", CellFormat::kPercent},
               {"inside", "inside 80 % interval", CellFormat::kPercent}});
  table.add({static_cast<std::int64_t>(score.cases), score.waited_s, score.error_s, score.by_mean_error_s,
             score.by_mean_error_s > 0 ? Cell(score.error_s / score.by_mean_error_s) : Cell(), score.inside});
  if (for_people(options)) {
    context.print(fmt::format("{} on {} under {}: estimates at submission beside what then happened\n\n",
                              file.job_trace.name, cluster.text, options.text("policy")));
  }
  return context.print_table(table, options);
}

Status run_estimate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  if (options.has("replay")) return run_replay(context, arguments.words[0], options);
  ORRERY_TRY(const Queue queue, load_queue(context, arguments.words[0], options));
  ORRERY_TRY(const ClusterChoice cluster, load_cluster(context, options.text("cluster")));
  ORRERY_TRY(const SimulationSetup setups, load_setup(context, options, cluster, queue.job_trace));
  ORRERY_TRY_VOID(check_running(queue, cluster));
  const std::string& policy = options.text("policy");
  std::optional<std::size_t> asked;
  if (options.has("explain")) {
    const std::string& id = options.text("explain");
    const auto found = std::ranges::find(queue.jobs, id, [](const QueuedJob& job) { return job.job.id; });
    if (found == queue.jobs.end()) return Error::not_found(fmt::format("--explain: no job {} in the queue", quote(id)));
    asked = static_cast<std::size_t>(found - queue.jobs.begin());
  }
  ORRERY_TRY(std::vector<StartEstimate> estimates,
             simulate::estimate_starts(queue.jobs, queue.job_trace, setups.base, policy, estimate_options(options)));
  // Before what was learned moves starts and ends apart.
  constexpr std::size_t kShown = 3;
  std::vector<simulate::WaitedFor> blockers;
  if (asked) blockers = simulate::waits_for(estimates, *asked, kShown);
  const Lesson lesson = learned_from(queue, setups.base, options);
  apply(lesson, queue, estimates);
  if (for_people(options)) {
    context.print(
        fmt::format("{} jobs on {} under {}; intervals are to hold 80 %\n", queue.jobs.size(), cluster.text, policy));
    if (queue.ended > 0) {
      context.print(fmt::format("{} jobs of the file have ended and are left out; --history learns from them\n",
                                format_whole(static_cast<double>(queue.ended))));
    }
    context.print("\n");
  }
  ORRERY_TRY_VOID(context.print_table(table_of(queue, estimates), options));
  if (!for_people(options)) return {};
  if (!queue.problems.empty()) context.print("\n" + queue.problems);
  if (!asked) return {};
  return explain(context, queue, setups.base, options, lesson, *asked, estimates, blockers);
}

}  // namespace

Command simulate_estimate_command() {
  return {
      "simulate estimate",
      "QUEUE",
      1,
      1,
      "estimate when the jobs of a queue start and end, with intervals, and explain what a job waits for",
      join(
          join(
              {text_option("cluster", "32x8", "MACHINESxGPUS, TYPE=MACHINESxGPUS,…, or a cluster file").in("CLUSTER"),
               text_option("policy", "fifo", "the policy; `orrery simulate --help` lists all policies").in("NAME"),
               text_option("history", "",
                           "job trace of finished jobs; run times are drawn from similar jobs (default: from "
                           "duration_s and --error)")
                   .in("TRACE"),
               number_option("error", 0.5, "error of duration_s: standard deviation of its logarithm").bounds(0.001, 5),
               text_option("explain", "", "explain what this job waits for and what would help").in("JOB"),
               optional_integer("replay",
                                "QUEUE is a job trace: estimate this many of its jobs at their submission, and score "
                                "the estimates against what happened")
                   .bounds(1, 1e6),
               integer_option("draws", 100, "simulations, each with other random run times").bounds(1, 1e5),
               integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256),
               integer_option("seed", 1, "seed of the run times").bounds(0, 1e15)},
              join(setup_options(), job_trace_options())),
          table_options()),
      {"orrery simulate estimate queue.csv --cluster 32x8 --history last-month.csv --explain job-17",
       "orrery simulate estimate last-month.csv --cluster 32x8 --replay 300"},
      run_estimate};
}

}  // namespace orrery::cli
