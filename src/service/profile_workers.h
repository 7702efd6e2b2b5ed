#pragma once
// A data-parallel job in real processes on this machine, measured, or predicted from such jobs.

#include "base/fields.h"
#include "base/table.h"
#include "predict/jobs/job_utilisation_model.h"
#include "profile/distributed/launch.h"
#include "service/watch.h"

namespace orrery::service {

// What is trained, by one process or by each worker.
struct TrainedFields {
  std::string model;
  std::int64_t batch = 0;  // of each worker
  double learning_rate = 0;
  std::uint64_t seed = 0;
  std::optional<int> threads;  // nothing: all cores; one for each worker

  friend bool operator==(const TrainedFields&, const TrainedFields&) = default;
};
const Fields<TrainedFields>& trained_fields();

// How the workers of a job exchange gradients, and for how many steps.
struct ExchangeFields {
  Setting<profile::DistributedForm> form;
  Setting<int> servers;
  Setting<profile::UpdateMode> mode;
  Setting<int> steps;
  Setting<Seconds> silence;  // a process gives up when it has received nothing for this long

  friend bool operator==(const ExchangeFields&, const ExchangeFields&) = default;
};
const Fields<ExchangeFields>& exchange_fields();

// How the processes are run and sampled.
struct MeasuringFields {
  bool isolate = false;
  bool pin = false;
  Setting<Seconds> period, time_max;

  friend bool operator==(const MeasuringFields&, const MeasuringFields&) = default;
};
const Fields<MeasuringFields>& measuring_fields();

struct WorkersQuestion {
  TrainedFields trained;
  ExchangeFields exchange;
  int workers = 2;
  std::optional<BytesPerSecond> rate;  // of each process's link, in each direction
};

// "50MB/s": a number, k, M or G (decimal) or nothing, and B/s.
Result<BytesPerSecond> parse_rate(const std::string& text);
// The model at its batch.
Result<workload::TrainingRun> trained_run(env::Env env, const TrainedFields& fields, workload::Optimizer optimizer);
// The command of this program that is one process of the job, up to its role (LaunchOptions::argv).
Result<std::vector<std::string>> process_command(env::Env env, const WorkersQuestion& question);

struct MeasuredWorkers {
  std::string model;
  std::int64_t batch = 0;  // of each worker
  int workers = 0;
  std::int64_t steps = 0;
  Bytes gradients;
  profile::LaunchReport report;
};
Result<MeasuredWorkers> measure_workers(env::Env env, const WorkersQuestion& question, const MeasuringFields& how,
                                        Watch& watch);

// One row per process: times, traffic, bursts of the network.
Table process_table(const MeasuredWorkers& measured);
std::string workers_text(const MeasuredWorkers& measured);
// The steps of all workers, and the series of one process, on the same clock: 0 is the start of the first step.
std::string steps_csv(const MeasuredWorkers& measured);
std::string series_csv(const MeasuredWorkers& measured, const profile::LaunchedProcess& process);

struct PredictedWorker {
  predict::PredictedUtilisation use;
  std::string machine;
  std::uint64_t jobs = 0;  // learned from
  double error = 0;        // mean, of metrics of jobs that were left out
  bool in_domain = true;   // otherwise intervals are at least those of formulas
};
// By `predictor`: what was learned from the jobs that ship (auto), or a file.
Result<PredictedWorker> predict_worker(env::Env env, const WorkersQuestion& question, const std::string& predictor,
                                       const FieldNames& names);
// One row per resource.
Table worker_table(const PredictedWorker& worker);
std::string worker_text(const PredictedWorker& worker);

}  // namespace orrery::service
