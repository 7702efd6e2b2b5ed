#pragma once
// The options that describe training runs, and the runs they stand for: every combination of the lists given.

#include "cli/command.h"
#include "hardware/placement.h"
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

// The model of a file, if `text` names one, and of the zoo otherwise. At batch 1 where the model can be.
Result<workload::TrainingGraph> load_model(env::Files& files, const std::string& text);
// Whether `text` names a file.
bool is_model_file(env::Files& files, const std::string& text);

// One run on one placement; `graph` has the batch already.
Result<workload::TrainingRun> make_run(workload::TrainingGraph graph, const std::string& precision,
                                       const hardware::Placement& placement, const OptionValues& options);

// models × devices × counts × batches × precisions, in that order. Fails above kMostPoints.
inline constexpr std::size_t kMostPoints = 10'000;
Result<std::vector<RunPoint>> expand_runs(env::Files& files, const std::vector<std::string>& models,
                                          const OptionValues& options);

}  // namespace orrery::cli
