#include "service/simulate.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/slurm_sweep.h"
#include "cli/terminal_watch.h"
#include "env/files.h"
#include "simulate/job_story.h"
#include "simulate/occupancy.h"
#include "simulate/report.h"
#include "simulate/run_tables.h"
#include "trace/trace_writers.h"

namespace orrery::cli {

namespace {

using schedule::Machines;
using service::SimulateAnswer;
using service::SimulateRequest;
using service::Simulation;
using simulate::RunResult;
using simulate::Summary;

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

void print_heading(Context& context, const OptionValues& options, const Simulation& loaded) {
  if (!for_people(options)) return;
  const simulate::JobTrace& job_trace = loaded.file.job_trace;
  context.print(fmt::format("{} jobs of {} ({}) on {}\n\n", format_whole(static_cast<double>(job_trace.jobs.size())),
                            job_trace.name, loaded.file.format, loaded.cluster.text));
}

void print_problems(Context& context, const OptionValues& options, const Simulation& loaded,
                    const std::vector<Summary>& summaries) {
  if (!for_people(options)) return;
  for (const std::string& note : loaded.setups.notes) context.print("\n" + note + "\n");
  if (const std::string text = service::problems_text(loaded.file, 5); !text.empty()) context.print("\n" + text);
  for (const Summary& summary : summaries) {
    if (summary.too_large == 0 && summary.unfinished == 0) continue;
    context.print(
        fmt::format("\n{}: {} jobs ask for more GPUs than there are or their quota has, {} wait for machines that "
                    "never return; the "
                    "metrics are of the others\n",
                    summary.policy, summary.too_large, summary.unfinished));
  }
}

Status print_sweep(Context& context, const OptionValues& options, const Simulation& loaded,
                   const SimulateAnswer& answer) {
  if (!for_people(options)) return context.print_table(simulate::to_table(answer.summaries), options);
  ORRERY_TRY_VOID(context.print_table(simulate::spread_table(answer.summaries), options));
  if (answer.kept > 0)
    context.print(
        fmt::format("\n{} of {} runs were kept in {}\n", answer.kept, answer.summaries.size(), options.text("sweep")));
  print_problems(context, options, loaded, answer.summaries);
  return {};
}

Status print_runs(Context& context, const OptionValues& options, const Simulation& loaded,
                  const SimulateAnswer& answer) {
  if (!loaded.explained || for_people(options)) {
    ORRERY_TRY_VOID(context.print_table(simulate::to_table(answer.summaries), options));
  }
  print_problems(context, options, loaded, answer.summaries);
  if (!loaded.explained) return {};
  if (for_people(options)) context.print(fmt::format("\njob {}\n", options.text("explain")));
  return context.print_table(simulate::story_table(loaded.file.job_trace, answer.runs, *loaded.explained), options);
}

Status check_files(const SimulateRequest& request, const OptionValues& options) {
  if (options.flag("slurm") && request.sweep.empty()) return Error::invalid("--slurm keeps its runs in --sweep FILE");
  if (!request.is_sweep()) return {};
  for (const char* name : {"report", "plots", "perfetto", "jobs", "log"}) {
    if (options.has(name))
      return Error::invalid(fmt::format("--{} is of one run; leave out --seeds and --sweep", name));
  }
  return {};
}

Status run_simulate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(SimulateRequest request, service::simulate_fields().read(options));
  ORRERY_TRY_VOID(check_files(request, options));
  request.keep_log = options.has("log");
  request.keep_holdings = options.has("plots") || options.has("perfetto");
  ORRERY_TRY(const Simulation loaded, service::load_simulation(context.env, request));
  if (options.flag("slurm")) {
    ORRERY_TRY_VOID(run_on_slurm(context, request.trace, options, service::sweep_of(request, loaded)));
  }
  TerminalWatch watch(context.env);
  ORRERY_TRY(const SimulateAnswer answer, service::simulate(context.env, request, loaded, watch));
  const Status failure = service::failure_of(answer);
  if (!request.is_sweep() && answer.runs.empty()) return failure;
  print_heading(context, options, loaded);
  if (request.is_sweep()) {
    ORRERY_TRY_VOID(print_sweep(context, options, loaded, answer));
    return failure;
  }
  ORRERY_TRY_VOID(print_runs(context, options, loaded, answer));
  const std::string command =
      fmt::format("orrery simulate {} --cluster {} --policy {} --placement {}", loaded.file.job_trace.name,
                  request.cluster, fmt::join(request.policies, ","), request.setup.placement);
  const simulate::ReportInput report{loaded.file,         answer.runs, answer.summaries,
                                     loaded.cluster.text, command,     loaded.cluster.gpus};
  ORRERY_TRY_VOID(write_files(context, report, loaded.cluster.machines, options));
  return failure;
}

}  // namespace

Command simulate_command() {
  return {
      "simulate",
      "simulate a job trace on a cluster under one or more policies",
      join(join(service::simulate_fields().records(),
                {flag_option("slurm", "run --sweep as a Slurm job array and wait for it"),
                 text_option("sbatch", "", "further options of sbatch for --slurm, separated by spaces").in("OPTIONS"),
                 text_option("report", "", "write a self-contained HTML page with tables and figures").in("FILE.html"),
                 text_option("plots", "", "write the figures as SVG into this folder").in("DIR"),
                 text_option("perfetto", "", "write which job ran on which GPU, for ui.perfetto.dev").in("FILE"),
                 text_option("jobs", "", "write the start and end of every job").in("FILE.csv"),
                 text_option("log", "", "write every decision with its reason").in("FILE.csv")}),
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
