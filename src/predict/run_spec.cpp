#include "predict/run_spec.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

using workload::TrainingRun;

Result<TrainingRun> run_on(const RunSpec& spec, workload::TrainingGraph graph, const hardware::Placement& placement) {
  TrainingRun run{std::move(graph)};
  run.optimizer = spec.optimizer;
  const bool has_tf32 = hardware::supports(*placement.device, Precision::kTf32);
  run.precision = spec.precision.value_or(has_tf32 ? Precision::kTf32 : Precision::kFp32);
  run.parallelism = spec.parallelism;
  if (placement.devices % spec.replica_devices() != 0) {
    return Error::invalid(fmt::format("{} devices are not a multiple of tensor {} × pipeline {}", placement.devices,
                                      spec.parallelism.tensor, spec.parallelism.pipeline));
  }
  run.parallelism.data = static_cast<int>(placement.devices / spec.replica_devices());
  run.steps = spec.steps;
  if (spec.samples) run.steps = std::max(1.0, std::ceil(*spec.samples / static_cast<double>(run.global_batch())));
  return run;
}

}  // namespace orrery::predict
