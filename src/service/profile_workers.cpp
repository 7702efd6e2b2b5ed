#include "service/profile_workers.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "base/text.h"
#include "profile/alternation.h"
#include "profile/distributed/network.h"
#include "service/models.h"

namespace orrery::service {

using profile::DistributedForm;
using profile::LaunchedProcess;
using profile::LaunchReport;
using profile::UpdateMode;
using profile::WorkerStep;

namespace {

Result<DistributedForm> parse_form(const std::string& name) {
  return name == "ps" ? DistributedForm::kParameterServer : DistributedForm::kAllReduce;
}

std::string form_name(DistributedForm form) {
  return form == DistributedForm::kParameterServer ? "ps" : "allreduce";
}

Result<UpdateMode> parse_mode(const std::string& name) {
  return name == "sync" ? UpdateMode::kSync : UpdateMode::kAsync;
}

}  // namespace

const Fields<TrainedFields>& trained_fields() {
  using T = TrainedFields;
  static const auto kFields =
      Fields<T>()
          .add(&T::model,
               text_option("model", "", "model of the zoo, model file or job file").in("MODEL").required().word())
          .add(&T::batch, integer_option("batch", 8, "samples per step, of each worker").bounds(1, 1 << 20))
          .add(&T::learning_rate, number_option("learning-rate", 1e-3, "learning rate").bounds(0, 1e3))
          .add(&T::seed,
               integer_option("seed", 1,
                              "seed of the initial parameters and the synthetic data; each worker adds its rank for "
                              "its data")
                   .bounds(0, 1e15))
          .add(&T::threads,
               optional_integer("threads", "threads inside operators (default: all cores; 1 on each worker)")
                   .bounds(1, 1024));
  return kFields;
}

const Fields<ExchangeFields>& exchange_fields() {
  using E = ExchangeFields;
  static const auto kFields =
      Fields<E>()
          .add(&E::form,
               choice_option("form", "ps", {"ps", "allreduce"},
                             "how workers synchronise gradients: parameter servers, or a ring all-reduce"),
               parse_form)
          .add(&E::servers, integer_option("servers", 1, "parameter servers").bounds(1, 64))
          .add(&E::mode,
               choice_option("mode", "sync", {"sync", "async"},
                             "sync: servers wait for all workers; async: they apply each gradient on arrival"),
               parse_mode)
          .add(&E::steps, integer_option("steps", 10, "steps of each worker").bounds(1, 1e6))
          .add(&E::silence,
               duration_option("silence", "60s", "a process gives up when it has received nothing for this long")
                   .bounds(1, 86400));
  return kFields;
}

const Fields<MeasuringFields>& measuring_fields() {
  using M = MeasuringFields;
  static const auto kFields =
      Fields<M>()
          .add(&M::isolate, flag_option("isolate", "run each process in its own network namespace (needs root)"))
          .add(&M::pin, flag_option("pin", "pin each process to one core, round robin"))
          .add(&M::period,
               duration_option("period", "10ms", "time between two samples of the processes").bounds(0.001, 60))
          .add(&M::time_max, duration_option("time-max", "1h", "stop the job after this time").bounds(1, 864000));
  return kFields;
}

Result<BytesPerSecond> parse_rate(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"kB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"B/s", 1}};
  constexpr double kSlowest = 1e4, kFastest = 4e9;  // what a token bucket of the kernel can do
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const auto number = parse_number(text.substr(0, text.size() - unit.size()));
    if (!number || *number * factor < kSlowest || *number * factor > kFastest) break;
    return BytesPerSecond(*number * factor);
  }
  return Error::invalid(fmt::format("expected 10kB/s to 4GB/s, not {}", quote(text)));
}

Result<workload::TrainingRun> trained_run(env::Env env, const TrainedFields& fields, workload::Optimizer optimizer) {
  ORRERY_TRY(const NamedModel named, load_model(env, fields.model));
  ORRERY_TRY(workload::TrainingGraph graph, named.graph.with_batch(fields.batch));
  workload::TrainingRun run{std::move(graph)};
  run.optimizer = optimizer;
  return run;
}

Result<std::vector<std::string>> process_command(env::Env env, const WorkersQuestion& question) {
  ORRERY_TRY(const std::string program, profile::own_program(env.files));
  const auto& [trained, exchange, workers, rate] = question;
  return std::vector<std::string>{program,
                                  "profile",
                                  "role",
                                  trained.model,
                                  "--form",
                                  form_name(*exchange.form),
                                  "--servers",
                                  std::to_string(*exchange.servers),
                                  "--workers",
                                  std::to_string(workers),
                                  "--mode",
                                  *exchange.mode == UpdateMode::kSync ? "sync" : "async",
                                  "--steps",
                                  std::to_string(*exchange.steps),
                                  "--batch",
                                  std::to_string(trained.batch),
                                  "--learning-rate",
                                  fmt::format("{}", trained.learning_rate),
                                  "--seed",
                                  std::to_string(trained.seed),
                                  "--threads",
                                  std::to_string(trained.threads.value_or(1)),
                                  "--silence",
                                  duration_text(*exchange.silence)};
}

Result<MeasuredWorkers> measure_workers(env::Env env, const WorkersQuestion& question, const MeasuringFields& how,
                                        Watch& watch) {
  ORRERY_TRY(const workload::TrainingRun run, trained_run(env, question.trained, workload::Optimizer::kSgd));
  profile::LaunchOptions launch;
  ORRERY_TRY(launch.argv, process_command(env, question));
  launch.form = *question.exchange.form;
  launch.servers = *question.exchange.servers;
  launch.workers = question.workers;
  launch.isolate = how.isolate;
  launch.rate = question.rate;
  launch.pin = how.pin;
  launch.cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  launch.period = *how.period;
  launch.time_max = *how.time_max;
  launch.while_running = [&](Seconds elapsed) { watch.at(static_cast<std::int64_t>(elapsed.value())); };
  watch.begin(fmt::format("training {} on {} workers", run.graph.name(), question.workers), 0, "seconds");
  ORRERY_TRY(LaunchReport report, profile::launch(env, launch));
  const Bytes gradients(4.0 * static_cast<double>(run.graph.parameter_count()));
  return MeasuredWorkers{run.graph.name(),         run.graph.batch(), question.workers,
                         *question.exchange.steps, gradients,         std::move(report)};
}

namespace {

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
std::vector<Cell> burst_cells(const LaunchedProcess& process, const std::string& series,
                              const MeasuredWorkers& measured) {
  const auto found = process.series.find(fmt::format("network {} {}", series, profile::kNetworkInterface));
  const auto [begin, end] = training_window(measured.report);
  if (found == process.series.end()) return {Cell(), Cell(), Cell()};
  const auto bursts = profile::alternation(found->second, begin, end);
  if (!bursts) return {Cell(), Cell(), Cell()};
  const std::string pattern(to_string(bursts->pattern));
  if (bursts->count == 0) return {pattern, Cell(), Cell()};
  return {pattern, bursts->sum, bursts->sum / measured.gradients.value()};
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

}  // namespace

Table process_table(const MeasuredWorkers& measured) {
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
  for (const LaunchedProcess& process : measured.report.processes) {
    std::vector<Cell> row = {process.name};
    for (const auto& cells : {time_cells(process), traffic_cells(process, measured.steps),
                              burst_cells(process, "transmit", measured), burst_cells(process, "receive", measured)}) {
      row.insert(row.end(), cells.begin(), cells.end());
    }
    row.push_back(measured.gradients.value());
    table.add(std::move(row));
  }
  return table;
}

std::string workers_text(const MeasuredWorkers& measured) {
  return fmt::format("{}, batch {} on each of {} workers, {} of gradients, {} steps\n", measured.model, measured.batch,
                     measured.workers, format_bytes(measured.gradients), measured.steps);
}

std::string steps_csv(const MeasuredWorkers& measured) {
  Table table({{"process", ""}, {"step", ""}, {"start_s", ""}, {"compute_s", ""}, {"exchange_s", ""}, {"loss", ""}});
  const Seconds begin = training_window(measured.report).first;
  for (const LaunchedProcess& process : measured.report.processes) {
    if (!process.worker) continue;
    std::int64_t number = 0;
    for (const WorkerStep& step : process.worker->steps) {
      table.add({process.name, number++, (step.start - begin).value(), (step.computed - step.start).value(),
                 (step.end - step.computed).value(), step.loss});
    }
  }
  return table.to_csv();
}

std::string series_csv(const MeasuredWorkers& measured, const LaunchedProcess& process) {
  std::vector<trace::ResourceSeries> all;
  for (const auto& [name, series] : process.series) all.push_back(series);
  return profile::to_csv(all, training_window(measured.report).first);
}

}  // namespace orrery::service
