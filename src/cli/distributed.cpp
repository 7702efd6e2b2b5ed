#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/distributed_options.h"
#include "env/files.h"
#include "profile/alternation.h"
#include "profile/distributed/launch.h"
#include "profile/distributed/network.h"

namespace orrery::cli {

using profile::LaunchedProcess;
using profile::LaunchReport;
using profile::WorkerStep;

namespace {

Result<profile::LaunchOptions> launch_options(env::Env env, const std::string& model, const OptionValues& options) {
  profile::LaunchOptions launch;
  ORRERY_TRY(const std::string program, profile::own_program(env.files));
  launch.argv = {program, "distributed", "role", model};
  for (std::string& word : distributed_words(options)) launch.argv.push_back(std::move(word));
  const bool has_servers = options.text("form") == "ps";
  launch.form = has_servers ? profile::DistributedForm::kParameterServer : profile::DistributedForm::kAllReduce;
  launch.servers = static_cast<int>(options.integer("servers"));
  launch.workers = static_cast<int>(options.integer("workers"));
  launch.isolate = options.flag("isolate");
  launch.pin = options.flag("pin");
  launch.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  launch.period = options.duration("period");
  launch.time_max = options.duration("time-max");
  if (!options.has("rate")) return launch;
  ORRERY_TRY(launch.rate, parse_rate(options.text("rate")));
  if (!launch.isolate) return Error::invalid("--rate limits the network of isolated processes; add --isolate");
  return launch;
}

// From the start of the first step of any worker to the end of the last.
std::pair<Seconds, Seconds> training_window(const LaunchReport& report) {
  Seconds begin(0), end(0);
  for (const LaunchedProcess& process : report.processes) {
    if (!process.worker || process.worker->steps.empty()) continue;
    const auto& steps = process.worker->steps;
    if (end == Seconds(0) || steps.front().start < begin) begin = steps.front().start;
    end = std::max(end, steps.back().end);
  }
  return {begin, end};
}

// Pattern, bytes of a burst, and their share of the gradients' size; empty cells without a network of its own.
std::vector<Cell> burst_cells(const LaunchedProcess& process, const std::string& series, const LaunchReport& report,
                              Bytes gradients) {
  const auto found = process.series.find(fmt::format("network {} {}", series, profile::kNetworkInterface));
  const auto [begin, end] = training_window(report);
  if (found == process.series.end()) return {Cell(), Cell(), Cell()};
  const auto bursts = profile::alternation(found->second, begin, end);
  if (!bursts) return {Cell(), Cell(), Cell()};
  const std::string pattern(to_string(bursts->pattern));
  if (bursts->count == 0) return {pattern, Cell(), Cell()};
  return {pattern, bursts->sum, bursts->sum / gradients.value()};
}

// The bytes of one step, out and in, as the process counted them itself.
std::vector<Cell> traffic_cells(const LaunchedProcess& process, std::int64_t steps) {
  std::optional<profile::Traffic> traffic;
  if (process.worker) traffic = process.worker->traffic;
  if (process.server) traffic = process.server->traffic;
  if (!traffic) return {Cell(), Cell()};
  return {traffic->out / static_cast<double>(steps), traffic->in / static_cast<double>(steps)};
}

std::vector<Cell> time_cells(const LaunchedProcess& process) {
  if (!process.worker || process.worker->steps.empty()) return {Cell(), Cell(), Cell()};
  const auto& steps = process.worker->steps;
  return {profile::median_step(steps).value(), profile::median_computing(steps).value(), steps.back().loss};
}

Table process_rows(const LaunchReport& report, std::int64_t steps, Bytes gradients) {
  Table table({{"process", "process"},
               {"step_s", "step", CellFormat::kSeconds},
               {"compute_s", "compute", CellFormat::kSeconds},
               {"loss", "last loss", CellFormat::kNumber},
               {"sent_bytes_per_step", "sent/step", CellFormat::kBytes},
               {"received_bytes_per_step", "received/step", CellFormat::kBytes},
               {"transmit_pattern", "transmit"},
               {"transmit_bytes_per_burst", "per burst", CellFormat::kBytes},
               {"transmit_share", "of gradients", CellFormat::kPercent},
               {"receive_pattern", "receive"},
               {"receive_bytes_per_burst", "per burst", CellFormat::kBytes},
               {"receive_share", "of gradients", CellFormat::kPercent},
               {"gradient_bytes", "gradients", CellFormat::kBytes, false}});
  for (const LaunchedProcess& process : report.processes) {
    std::vector<Cell> row = {process.name};
    for (const auto& cells :
         {time_cells(process), traffic_cells(process, steps), burst_cells(process, "transmit", report, gradients),
          burst_cells(process, "receive", report, gradients)}) {
      row.insert(row.end(), cells.begin(), cells.end());
    }
    row.push_back(gradients.value());
    table.add(std::move(row));
  }
  return table;
}

std::string steps_csv(const LaunchReport& report) {
  Table table({{"process", ""}, {"step", ""}, {"start_s", ""}, {"compute_s", ""}, {"exchange_s", ""}, {"loss", ""}});
  const Seconds begin = training_window(report).first;
  for (const LaunchedProcess& process : report.processes) {
    if (!process.worker) continue;
    std::int64_t number = 0;
    for (const WorkerStep& step : process.worker->steps) {
      table.add({process.name, number++, (step.start - begin).value(), (step.computed - step.start).value(),
                 (step.end - step.computed).value(), step.loss});
    }
  }
  return table.to_csv();
}

// steps.csv, and the series of each process on the same clock: 0 is the start of the first step.
Status write_folder(Context& context, const LaunchReport& report, const OptionValues& options) {
  const std::string& folder = options.text("out");
  ORRERY_TRY_VOID(context.env.files.make_directory(folder));
  ORRERY_TRY_VOID(context.write_file(folder + "/steps.csv", steps_csv(report), options));
  const Seconds begin = training_window(report).first;
  for (const LaunchedProcess& process : report.processes) {
    std::vector<trace::ResourceSeries> all;
    for (const auto& [name, series] : process.series) all.push_back(series);
    std::string file = process.name;
    std::replace(file.begin(), file.end(), ' ', '-');
    ORRERY_TRY_VOID(context.write_file(folder + "/" + file + ".csv", profile::to_csv(all, begin), options));
  }
  return {};
}

Status run_distributed(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string& model = arguments.words[0];
  ORRERY_TRY(const workload::TrainingRun run, distributed_run(context.env, model, options));
  ORRERY_TRY(profile::LaunchOptions how, launch_options(context.env, model, options));
  Progress progress(fmt::format("training {} on {} workers", run.graph.name(), how.workers), 0,
                    progress_options(context.env, "seconds"));
  progress.begin();
  how.while_running = [&](Seconds elapsed) {
    const auto seconds = static_cast<std::int64_t>(elapsed.value());
    if (seconds > progress.done()) progress.advance(seconds - progress.done());
  };
  ORRERY_TRY(const LaunchReport report, profile::launch(context.env, how));
  const Bytes gradients(4.0 * static_cast<double>(run.graph.parameter_count()));
  if (for_people(options)) {
    context.print(fmt::format("{}, batch {} on each of {} workers, {} of gradients, {} steps\n\n", run.graph.name(),
                              run.graph.batch(), how.workers, format_bytes(gradients), options.integer("steps")));
  }
  ORRERY_TRY_VOID(context.print_table(process_rows(report, options.integer("steps"), gradients), options));
  for (const std::string& note : report.notes) {
    if (for_people(options)) context.print(fmt::format("note: {}\n", note));
  }
  return options.has("out") ? write_folder(context, report, options) : Status();
}

}  // namespace

Command distributed_command() {
  return {"distributed",
          "MODEL",
          1,
          1,
          "train a model data-parallel in real processes and measure their network utilisation",
          join(join(distributed_options(),
                    {flag_option("isolate", "run each process in its own network namespace (needs root)"),
                     text_option("rate", "", "limit the rate of each isolated network in each direction, e.g. 50MB/s")
                         .in("RATE"),
                     flag_option("pin", "pin each process to one core, round robin"),
                     duration_option("period", "10ms", "time between two samples").bounds(0.001, 60),
                     duration_option("time-max", "1h", "stop the job after this time").bounds(1, 864000),
                     text_option("out", "", "write step times and sampled series to this folder").in("DIR")}),
               table_options()),
          {"orrery distributed lenet --form ps --servers 1 --workers 2 --steps 20",
           "orrery distributed lenet --form allreduce --workers 2 --steps 20",
           "orrery distributed mobilenet_v2 --workers 2 --isolate --rate 50MB/s --out run"},
          run_distributed};
}

}  // namespace orrery::cli
