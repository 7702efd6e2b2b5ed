#pragma once
// The options that describe training runs, and these runs: every combination of the lists given. Commands that take a
// model take a job file too.

#include "cli/command.h"
#include "hardware/placement.h"
#include "workload/job_file.h"
#include "workload/training_run.h"

namespace orrery::cli {

struct RunPoint {
  std::string model;
  workload::TrainingRun run;
  hardware::Placement placement;
};

// Batch, precision, optimizer, parallelism, length: everything but the devices.
std::vector<OptionRecord> training_options();
// --device, --count, --per-machine, --network.
std::vector<OptionRecord> placement_options();

// The name or path of the model of a word: itself, or the model of a job file.
Result<std::string> model_named(env::Env env, const std::string& word);
// The model at batch 1: of the zoo if it has one of that name, otherwise from a file of that name.
Result<workload::TrainingGraph> load_model(env::Env env, const std::string& text);

// What a word of the command line asks for: a model, or a job file whose fields replace options that were not given.
struct RunRequest {
  std::string model;              // for people
  workload::TrainingGraph graph;  // at batch 1
  OptionValues options;
  std::optional<workload::JobSpec> job;
};
Result<RunRequest> read_request(env::Env env, const std::string& word, const OptionValues& options);
Result<RunRequest> job_request(env::Env env, const workload::JobFile& job, const OptionValues& options);

// One run on one placement; `graph` has the batch already.
Result<workload::TrainingRun> make_run(workload::TrainingGraph graph, const std::string& precision,
                                       const hardware::Placement& placement, const OptionValues& options);

// words × devices × counts × batches × precisions, in that order. A job has its own devices, counts and batch.
// Fails above kMostPoints.
inline constexpr std::size_t kMostPoints = 10'000;
Result<std::vector<RunPoint>> expand_runs(env::Env env, const std::vector<std::string>& words,
                                          const OptionValues& options);
// The runs of one request, without that limit.
Result<std::vector<RunPoint>> runs_of(const RunRequest& request);

}  // namespace orrery::cli
