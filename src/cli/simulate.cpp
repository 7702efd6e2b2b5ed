#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/data_folder.h"
#include "cli/job_traces.h"
#include "cli/simulate_setup.h"
#include "cli/slurm_sweep.h"
#include "env/clock.h"
#include "env/files.h"
#include "simulate/job_story.h"
#include "simulate/occupancy.h"
#include "simulate/report.h"
#include "simulate/run_tables.h"
#include "simulate/runner.h"
#include "simulate/sweep.h"
#include "trace/trace_writers.h"

namespace orrery::cli {

namespace {

using simulate::RunResult;
using simulate::Summary;

using schedule::Machines;

Status write_plots(Context& context, const simulate::ReportInput& report, const Machines& machines,
                   const OptionValues& options) {
  const std::string& folder = options.text("plots");
  ORRERY_TRY_VOID(context.env.files.make_directory(folder));
  ORRERY_TRY_VOID(context.write_file(folder + "/completion.svg", simulate::completion_svg(report), options));
  ORRERY_TRY_VOID(context.write_file(folder + "/utilisation.svg", simulate::utilisation_svg(report), options));
  ORRERY_TRY_VOID(context.write_file(folder + "/fragmentation.svg", simulate::fragmentation_svg(report), options));
  ORRERY_TRY_VOID(context.write_file(folder + "/waiting.svg", simulate::waiting_svg(report), options));
  ORRERY_TRY_VOID(context.write_file(folder + "/means.svg", simulate::means_svg(report), options));
  for (const RunResult& run : report.runs) {
    const std::string svg = simulate::gantt_svg(report.file.job_trace, run, simulate::lanes_of(run, machines));
    ORRERY_TRY_VOID(context.write_file(fmt::format("{}/gantt-{}.svg", folder, run.policy), svg, options));
  }
  return {};
}

// The files that were asked for.
Status write_files(Context& context, const simulate::ReportInput& report, const Machines& machines,
                   const OptionValues& options) {
  if (options.has("report")) {
    ORRERY_TRY_VOID(context.write_file(options.text("report"), simulate::to_html(report), options));
  }
  if (options.has("jobs")) {
    ORRERY_TRY_VOID(context.write_file(options.text("jobs"),
                                       simulate::jobs_table(report.file.job_trace, report.runs).to_csv(), options));
  }
  if (options.has("log")) {
    ORRERY_TRY_VOID(context.write_file(
        options.text("log"), simulate::decisions_table(report.file.job_trace, report.runs).to_csv(), options));
  }
  if (options.has("perfetto")) {
    const trace::EventLog events = simulate::occupancy_events(report.file.job_trace, report.runs, machines);
    ORRERY_TRY_VOID(context.write_file(options.text("perfetto"), trace::write_perfetto_trace(events), options));
  }
  return options.has("plots") ? write_plots(context, report, machines, options) : Status();
}

void print_heading(Context& context, const OptionValues& options, const simulate::JobTraceFile& file,
                   const ClusterChoice& cluster) {
  if (!for_people(options)) return;
  context.print(fmt::format("{} jobs of {} ({}) on {}\n\n",
                            format_whole(static_cast<double>(file.job_trace.jobs.size())), file.job_trace.name,
                            file.format, cluster.text));
}

void print_problems(Context& context, const OptionValues& options, const simulate::JobTraceFile& file,
                    const std::vector<Summary>& summaries) {
  if (!for_people(options)) return;
  if (const std::string text = problems_text(file, 5); !text.empty()) context.print("\n" + text);
  for (const Summary& summary : summaries) {
    if (summary.too_large == 0 && summary.unfinished == 0) continue;
    context.print(
        fmt::format("\n{}: {} jobs ask for more GPUs than there are or their quota has, {} wait for machines that "
                    "never return; the "
                    "metrics are of the others\n",
                    summary.policy, summary.too_large, summary.unfinished));
  }
}

// The result of the command if runs have no metrics: success without any; otherwise an error that names them, after the
// metrics of the others were printed.
Status failure_of(const std::vector<simulate::SweepFailure>& failures, std::size_t runs) {
  if (failures.empty()) return {};
  const simulate::SweepFailure& first = failures.front();
  std::vector<std::string> texts;
  for (const simulate::SweepFailure& failure : failures) {
    std::string text = failure.error.to_string();
    if (!text.starts_with(failure.policy)) text = fmt::format("{}: {}", failure.policy, text);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  if (runs == 1) return Error(first.error.code(), texts.front());
  return Error(first.error.code(),
               fmt::format("{} of {} runs gave no metrics:\n  {}", failures.size(), runs, fmt::join(texts, "\n  ")));
}

// Every policy with every seed; only metrics are kept of a run.
Status run_sweep(Context& context, const std::string& trace, const OptionValues& options,
                 const simulate::JobTraceFile& file, const ClusterChoice& cluster, const SimulationSetup& setups) {
  for (const char* name : {"report", "plots", "perfetto", "jobs", "log"}) {
    if (options.has(name))
      return Error::invalid(fmt::format("--{} is of one run; leave out --seeds and --sweep", name));
  }
  const std::int64_t seeds = options.integer("seeds");
  if (seeds > 1 && !setups.is_random) {
    return Error::invalid(
        "every seed gives the same run; --seeds needs --prediction-error, --mtbf, --stragglers or "
        "--scaling fitted");
  }
  const std::vector<std::string> policies = options.texts("policy");
  const simulate::SweepInput input{.job_trace = file.job_trace,
                                   .setup = [&](std::uint64_t seed) { return setups.with_seed(seed); },
                                   .policies = policies,
                                   .first_seed = static_cast<std::uint64_t>(options.integer("seed")),
                                   .seeds = static_cast<int>(seeds),
                                   .threads = static_cast<int>(options.integer("threads")),
                                   .gpu_price = options.number("gpu-price"),
                                   .fingerprint = setups.fingerprint,
                                   .file = options.text("sweep")};
  if (options.flag("slurm")) {
    ORRERY_TRY_VOID(run_on_slurm(context, trace, options, input));
  }
  Progress progress("simulating", static_cast<std::int64_t>(policies.size()) * seeds,
                    progress_options(context.env, "runs"));
  ORRERY_TRY(const simulate::SweepResult sweep,
             simulate::run_sweep(input, context.env.files, [&] { progress.advance(1); }));
  progress.finish();
  print_heading(context, options, file, cluster);
  const Status failure = failure_of(sweep.failures, sweep.rows.size() + sweep.failures.size());
  if (!for_people(options)) {
    ORRERY_TRY_VOID(context.print_table(simulate::to_table(sweep.rows), options));
    return failure;
  }
  ORRERY_TRY_VOID(context.print_table(simulate::spread_table(sweep.rows), options));
  if (sweep.kept > 0)
    context.print(
        fmt::format("\n{} of {} runs were kept in {}\n", sweep.kept, sweep.rows.size(), options.text("sweep")));
  print_problems(context, options, file, sweep.rows);
  return failure;
}

Status run_simulate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY_VOID(simulate::check_policies(options.texts("policy")));
  ORRERY_TRY(const simulate::JobTraceFile file, load_job_trace(context, arguments.words[0], options));
  ORRERY_TRY(const ClusterChoice cluster, load_cluster(context, options.text("cluster")));
  ORRERY_TRY(const SimulationSetup setups, load_setup(context, options, cluster, file.job_trace));
  std::optional<simulate::JobIndex> explained;
  if (options.has("explain")) {
    ORRERY_TRY(explained, simulate::find_job(file.job_trace, options.text("explain")));
  }
  if (options.flag("slurm") && !options.has("sweep")) return Error::invalid("--slurm keeps its runs in --sweep FILE");
  if (options.integer("seeds") > 1 || options.has("sweep")) {
    if (explained) return Error::invalid("--explain describes one run of each policy; leave out --seeds and --sweep");
    return run_sweep(context, arguments.words[0], options, file, cluster, setups);
  }
  simulate::RunSetup setup = setups.with_seed(static_cast<std::uint64_t>(options.integer("seed")));
  setup.engine.keep_log = options.has("log") || explained;
  setup.engine.keep_holdings = options.has("plots") || options.has("perfetto");
  const std::vector<std::string> policies = options.texts("policy");
  Progress progress("simulating", static_cast<std::int64_t>(policies.size()),
                    progress_options(context.env, "policies"));
  std::vector<Result<RunResult>> results = simulate::run_policies(
      file.job_trace, setup, policies, static_cast<int>(options.integer("threads")), [&] { progress.advance(1); });
  progress.finish();
  std::vector<RunResult> runs;
  std::vector<simulate::SweepFailure> failures;
  for (std::size_t i = 0; i < policies.size(); ++i) {
    if (results[i]) {
      runs.push_back(std::move(*results[i]));
    } else {
      failures.push_back({policies[i], setup.engine.seed, std::move(results[i]).error()});
    }
  }
  const Status failure = failure_of(failures, policies.size());
  if (runs.empty()) return failure;
  std::vector<Summary> summaries;
  for (const RunResult& run : runs) {
    summaries.push_back(simulate::summarise(file.job_trace, run, cluster.gpus, options.number("gpu-price")));
    summaries.back().seed = setup.engine.seed;
  }
  print_heading(context, options, file, cluster);
  if (!explained || for_people(options)) {
    ORRERY_TRY_VOID(context.print_table(simulate::to_table(summaries), options));
  }
  print_problems(context, options, file, summaries);
  if (explained) {
    if (for_people(options)) context.print(fmt::format("\njob {}\n", options.text("explain")));
    ORRERY_TRY_VOID(context.print_table(simulate::story_table(file.job_trace, runs, *explained), options));
  }
  const std::string command =
      fmt::format("orrery simulate {} --cluster {} --policy {} --placement {}", file.job_trace.name,
                  options.text("cluster"), fmt::join(policies, ","), options.text("placement"));
  ORRERY_TRY_VOID(
      write_files(context, {file, runs, summaries, cluster.text, command, cluster.gpus}, setup.machines, options));
  return failure;
}

std::string policy_names() {
  std::string names;
  for (const schedule::PolicyInfo& policy : simulate::runnable_policies())
    names += (names.empty() ? "" : ", ") + policy.name;
  return names;
}

}  // namespace

Command simulate_command() {
  return {
      "simulate",
      "TRACE",
      1,
      1,
      "simulate a job trace on a cluster under one or more policies",
      join(join({text_option("cluster", "32x8", "MACHINESxGPUS, TYPE=MACHINESxGPUS,…, or a cluster file").in("CLUSTER"),
                 text_option("policy", "fifo,srtf,las", "policies to run, of: " + policy_names()).in("NAME").list(),
                 integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256),
                 integer_option("seed", 1, "seed of prediction errors, failures and stragglers").bounds(0, 1e15),
                 integer_option("seeds", 1, "run every policy with this many seeds, starting at --seed").bounds(1, 1e5),
                 text_option("sweep", "",
                             "keep the metrics of every run in this file; runs that it already holds are not repeated")
                     .in("FILE.jsonl"),
                 flag_option("slurm", "run --sweep as a Slurm job array and wait for it"),
                 text_option("sbatch", "", "further options of sbatch for --slurm, separated by spaces").in("OPTIONS"),
                 text_option("report", "", "write a self-contained HTML page with tables and figures").in("FILE.html"),
                 text_option("plots", "", "write the figures as SVG into this folder").in("DIR"),
                 text_option("perfetto", "", "write which job ran on which GPU, for ui.perfetto.dev").in("FILE"),
                 text_option("jobs", "", "write the start and end of every job").in("FILE.csv"),
                 text_option("log", "", "write every decision with its reason").in("FILE.csv"),
                 text_option("explain", "", "explain every decision about this job").in("JOB")},
                join(setup_options(), job_trace_options())),
           table_options()),
      {"orrery simulate jobs.csv --cluster 32x8 --policy fifo,srtf,las,optimus",
       "orrery simulate philly.csv.gz --cluster 64x4 --policy fifo,srtf --report report.html",
       "orrery simulate cases.csv --cluster A100=10x1,V100=20x1 --policy allox,hydra,edf",
       "orrery simulate jobs.csv --policy las,srtf --prediction-error 0.3 --seeds 20 --sweep sweep.jsonl",
       "orrery simulate jobs.csv --policy las,srtf --mtbf 10d --seeds 200 --sweep sweep.jsonl --slurm",
       "orrery simulate jobs.csv --policy srtf,gandiva --explain job-7"},
      run_simulate};
}

}  // namespace orrery::cli
