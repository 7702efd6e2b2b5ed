#pragma once
// How a model is trained, wherever it runs: a TrainingRun before its placement and batch are known.

#include <optional>

#include "hardware/placement.h"
#include "workload/training_run.h"

namespace orrery::predict {

struct RunSpec {
  workload::Optimizer optimizer = workload::Optimizer::kMomentum;
  std::optional<Precision> precision{};  // nothing: what the device is best at
  workload::Parallelism parallelism{};   // its `data` follows from the placement
  double steps = 1000;
  std::optional<double> samples{};  // to train on, instead of steps

  std::int64_t replica_devices() const { return std::int64_t{parallelism.tensor} * parallelism.pipeline; }
};

// `graph` has the batch of one replica. An error if the devices cannot be divided among replicas.
Result<workload::TrainingRun> run_on(const RunSpec& spec, workload::TrainingGraph graph,
                                     const hardware::Placement& placement);

}  // namespace orrery::predict
