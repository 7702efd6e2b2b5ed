#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/data_folder.h"
#include "cli/workloads.h"
#include "env/clock.h"
#include "env/files.h"
#include "simulate/occupancy.h"
#include "simulate/oracle/oracle.h"
#include "simulate/report.h"
#include "simulate/runner.h"
#include "trace/trace_writers.h"

namespace orrery::cli {

namespace {

using simulate::RunResult;
using simulate::Summary;

Status run_oracle(Context& context, const OptionValues& options) {
  const simulate::OracleInput input{.files = context.env.files,
                                    .now_s = [&] { return context.env.clock.monotonic().value(); },
                                    .folder = options.text("oracle"),
                                    .data = options.text("data"),
                                    .fallback = data_folder(context),
                                    .machines = options.text("machines")};
  ORRERY_TRY(const simulate::OracleReport report, simulate::run_oracle(input));
  if (options.flag("json")) {
    context.print(simulate::to_json(report));
  } else {
    ORRERY_TRY_VOID(context.print_table(simulate::to_table(report), options));
  }
  if (for_people(options)) {
    context.print(
        fmt::format("\n{} cases of kind {}, {} not run\n", report.cases.size(), report.kind, report.not_run()));
  }
  if (report.failed() == 0) return {};
  return Error::infeasible(fmt::format("{} of {} cases are beyond their bar", report.failed(), report.cases.size()));
}

simulate::RunSetup setup_of(const OptionValues& options, const ClusterChoice& cluster,
                            simulate::TimeNs last_submission_ns) {
  simulate::RunSetup setup;
  setup.machines = cluster.machines;
  setup.placement = options.text("placement");
  setup.curve.serial_share = options.number("serial-share");
  setup.curve.spread_cost = options.number("spread-cost");
  setup.elastic = options.number("elastic");
  setup.engine.seed = static_cast<std::uint64_t>(options.integer("seed"));
  setup.engine.prediction_sigma = options.number("prediction-error");
  const auto cost = [&](std::string_view name) { return schedule::from_seconds(options.duration(name).value()); };
  setup.engine.costs.first_start_ns = cost("start-cost");
  setup.engine.costs.resume_ns = cost("resume-cost");
  setup.engine.costs.move_ns = cost("move-cost");
  setup.engine.tenant_quota = static_cast<int>(options.integer("quota"));
  if (options.has("round")) setup.engine.round_ns = cost("round");
  setup.engine.costs.checkpoint_ns = cost("checkpoint");
  if (options.has("mtbf")) {
    // Twice the time of the submissions and a month: most runs end before.
    const simulate::TimeNs until = 2 * last_submission_ns + schedule::from_seconds(30 * 86'400.0);
    setup.engine.outages = simulate::random_outages(setup.machines.size(), options.duration("mtbf").value(),
                                                    options.duration("repair").value(), until, setup.engine.seed);
    if (options.has("notice")) simulate::announce(setup.engine.outages, cost("notice"), cost("save-time"));
  }
  return setup;
}

std::string log_csv(const simulate::Workload& workload, const std::vector<RunResult>& runs) {
  Table table({{"policy", "policy"},
               {"time_s", "time", CellFormat::kNumber},
               {"action", "action"},
               {"job", "job"},
               {"machines", "machines"},
               {"reason", "reason"}});
  for (const RunResult& run : runs) {
    for (const simulate::LoggedDecision& entry : run.log) {
      std::string machines;
      for (const schedule::Slice& slice : entry.decision.allocation) {
        machines += fmt::format("{}{}:{}", machines.empty() ? "" : " ", slice.machine, slice.gpus);
      }
      table.add({run.policy, schedule::to_seconds(entry.at_ns), std::string(to_string(entry.decision.action)),
                 workload.jobs[static_cast<std::size_t>(entry.decision.job)].id, machines,
                 to_string(entry.decision.reason)});
    }
  }
  return table.to_csv();
}

std::string jobs_csv(const simulate::Workload& workload, const std::vector<RunResult>& runs) {
  Table table({{"policy", "policy"},
               {"job", "job"},
               {"submit_s", "submit", CellFormat::kNumber},
               {"start_s", "start", CellFormat::kNumber},
               {"end_s", "end", CellFormat::kNumber},
               {"executed_s", "executed", CellFormat::kNumber},
               {"starts", "starts", CellFormat::kInteger}});
  const auto time = [](simulate::TimeNs at) {
    return at == simulate::kNever ? Cell() : Cell(schedule::to_seconds(at));
  };
  for (const RunResult& run : runs) {
    for (std::size_t j = 0; j < run.jobs.size(); ++j) {
      const simulate::JobOutcome& o = run.jobs[j];
      table.add({run.policy, workload.jobs[j].id, time(workload.jobs[j].facts.submit_ns), time(o.first_start_ns),
                 time(o.end_ns), schedule::to_seconds(o.executed_ns), std::int64_t{o.starts}});
    }
  }
  return table.to_csv();
}

using Machines = std::vector<schedule::MachineView>;

// One track per GPU of each policy.
trace::EventLog occupancy_events(const simulate::ReportInput& report, const Machines& machines) {
  trace::EventLog log;
  for (const RunResult& run : report.runs) {
    for (const simulate::Lane& lane : simulate::lanes_of(run, machines)) {
      const auto track = static_cast<std::uint32_t>(log.tracks.size());
      log.tracks.push_back({run.policy, fmt::format("machine {} GPU {}", lane.machine, lane.gpu), "", -1});
      for (const simulate::LaneSlice& slice : lane.slices) {
        trace::Event event;
        event.start_ns = slice.from_ns;
        event.duration_ns = slice.to_ns - slice.from_ns;
        event.name = log.names.intern(report.file.workload.jobs[static_cast<std::size_t>(slice.job)].id);
        event.track = track;
        log.events.push_back(event);
      }
    }
  }
  return log;
}

Status write_plots(Context& context, const simulate::ReportInput& report, const Machines& machines,
                   const OptionValues& options) {
  const std::string& folder = options.text("plots");
  ORRERY_TRY_VOID(context.env.files.make_directory(folder));
  ORRERY_TRY_VOID(context.write_file(folder + "/completion.svg", simulate::completion_svg(report), options));
  ORRERY_TRY_VOID(context.write_file(folder + "/utilisation.svg", simulate::utilisation_svg(report), options));
  ORRERY_TRY_VOID(context.write_file(folder + "/waiting.svg", simulate::waiting_svg(report), options));
  ORRERY_TRY_VOID(context.write_file(folder + "/means.svg", simulate::means_svg(report), options));
  for (const RunResult& run : report.runs) {
    const std::string svg = simulate::gantt_svg(report.file.workload, run, simulate::lanes_of(run, machines));
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
    ORRERY_TRY_VOID(context.write_file(options.text("jobs"), jobs_csv(report.file.workload, report.runs), options));
  }
  if (options.has("log")) {
    ORRERY_TRY_VOID(context.write_file(options.text("log"), log_csv(report.file.workload, report.runs), options));
  }
  if (options.has("perfetto")) {
    const trace::EventLog events = occupancy_events(report, machines);
    ORRERY_TRY_VOID(context.write_file(options.text("perfetto"), trace::write_perfetto_trace(events), options));
  }
  return options.has("plots") ? write_plots(context, report, machines, options) : Status();
}

Status run_simulate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  if (options.has("oracle")) {
    if (!arguments.words.empty()) return Error::invalid("--oracle has its own traces; leave out TRACE");
    return run_oracle(context, options);
  }
  if (arguments.words.empty()) return Error::invalid("TRACE is missing; or --oracle DIR");
  if (options.has("notice") && !options.has("mtbf")) {
    return Error::invalid("--notice is of machines that fail; give --mtbf as well");
  }
  ORRERY_TRY(const simulate::WorkloadFile file, load_workload(context, arguments.words[0], options));
  ORRERY_TRY(const ClusterChoice cluster, load_cluster(context, options.text("cluster")));
  simulate::RunSetup setup = setup_of(options, cluster, file.workload.jobs.back().facts.submit_ns);
  setup.engine.keep_log = options.has("log");
  setup.engine.keep_holdings = options.has("plots") || options.has("perfetto");
  const std::vector<std::string> policies = options.texts("policy");
  Progress progress("simulating", static_cast<std::int64_t>(policies.size()),
                    progress_options(context.env, "policies"));
  ORRERY_TRY(const std::vector<RunResult> runs,
             simulate::run_policies(file.workload, setup, policies, static_cast<int>(options.integer("threads")),
                                    [&] { progress.advance(1); }));
  progress.finish();
  std::vector<Summary> summaries;
  for (const RunResult& run : runs) {
    summaries.push_back(simulate::summarise(file.workload, run, cluster.gpus, options.number("gpu-price")));
  }
  if (for_people(options)) {
    context.print(fmt::format("{} jobs of {} ({}) on {}\n\n",
                              format_whole(static_cast<double>(file.workload.jobs.size())), file.workload.name,
                              file.format, cluster.text));
  }
  ORRERY_TRY_VOID(context.print_table(simulate::to_table(summaries), options));
  if (for_people(options)) {
    for (const std::string& text : {problems_text(file, 5)}) {
      if (!text.empty()) context.print("\n" + text);
    }
    for (const Summary& summary : summaries) {
      if (summary.too_large == 0 && summary.unfinished == 0) continue;
      context.print(fmt::format("\n{}: {} jobs ask for more GPUs than there are, {} were left waiting\n",
                                summary.policy, summary.too_large, summary.unfinished));
    }
  }
  const std::string command =
      fmt::format("orrery simulate {} --cluster {} --policy {} --placement {}", file.workload.name,
                  options.text("cluster"), fmt::join(policies, ","), options.text("placement"));
  return write_files(context, {file, runs, summaries, cluster.text, command, cluster.gpus}, setup.machines, options);
}

std::string policy_names() {
  std::string names;
  for (const schedule::PolicyInfo& policy : schedule::all_policies())
    names += (names.empty() ? "" : ", ") + policy.name;
  return names;
}

}  // namespace

Command simulate_command() {
  return {"simulate",
          "[TRACE]",
          0,
          1,
          "play a trace of jobs on a cluster under one or more policies",
          join(join({text_option("cluster", "32x8", "MACHINESxGPUS, or a cluster file").in("CLUSTER"),
                     text_option("policy", "fifo,srtf,las", "of: " + policy_names()).in("NAME").list(),
                     choice_option("placement", "consolidated", {"consolidated", "most-free", "best-fit", "rack"},
                                   "where GPUs are taken from"),
                     integer_option("threads", 2, "runs at a time").bounds(1, 256),
                     integer_option("seed", 1, "of prediction errors and failures").bounds(0, 1e15),
                     number_option("prediction-error", 0,
                                   "policies see run times times exp(N(0, this)) instead of the true ones")
                         .bounds(0, 5),
                     duration_option("start-cost", "0s", "without work when a job first starts"),
                     duration_option("resume-cost", "0s", "without work when a suspended job goes on"),
                     duration_option("move-cost", "0s", "without work when a job moves or is resized"),
                     optional_duration("mtbf", "machines fail, on average after this time").bounds(1, 1e9),
                     duration_option("repair", "1h", "and are down for this long, on average").bounds(1, 1e9),
                     duration_option("checkpoint", "0s", "a failure loses the work since the last multiple of this"),
                     optional_duration("notice", "machines that fail say so this long before, like spot machines"),
                     duration_option("save-time", "30s", "that jobs need to save their work when they hear it"),
                     integer_option("quota", 0, "GPUs the jobs of one tenant may ask for at a time; 0: no limit")
                         .bounds(0, 1e6),
                     optional_duration("round", "ask policies at multiples of this only").bounds(0.001, 1e7),
                     number_option("elastic", 4, "optimus may give a job up to this many times the GPUs it asks for")
                         .bounds(1, 1e4),
                     number_option("serial-share", 0.03, "share of a step on one GPU that more GPUs do not shorten")
                         .bounds(0, 1),
                     number_option("spread-cost", 0, "slowdown per machine beyond the fewest possible").bounds(0, 10),
                     number_option("gpu-price", 0, "for the cost of GPU time held").in("USD").bounds(0, 1e6),
                     text_option("report", "", "write one self-contained page with tables and figures").in("FILE.html"),
                     text_option("plots", "", "write the figures as SVG into this folder").in("DIR"),
                     text_option("perfetto", "", "write which job was on which GPU, for ui.perfetto.dev").in("FILE"),
                     text_option("jobs", "", "write start and end of every job").in("FILE.csv"),
                     text_option("log", "", "write every decision with its reason").in("FILE.csv"),
                     text_option("oracle", "", "instead of a trace: run the published cases of this folder").in("DIR"),
                     text_option("data", "", "with --oracle: inputs that are not in the folder").in("DIR"),
                     text_option("machines", "A100=10,V100=20,GTX2080Ti=15", "with --oracle: machines of batch cases")
                         .in("TYPE=COUNT,…")},
                    workload_options()),
               table_options()),
          {"orrery simulate jobs.csv --cluster 32x8 --policy fifo,srtf,las,optimus",
           "orrery simulate philly.csv.gz --cluster 64x4 --policy fifo,srtf --report report.html",
           "orrery simulate --oracle ../shared/oracles/sched_tiresias_sim --json"},
          run_simulate};
}

}  // namespace orrery::cli
