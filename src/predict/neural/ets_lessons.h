#pragma once
// Measured iterations as the ETS network learns from them: the steps of their graphs with execution and gap.

#include "predict/ets/graph_rows.h"
#include "predict/measured/measured_dataset.h"

namespace orrery::predict {

struct EtsLesson {
  std::string key;  // of the configuration; equal configurations share it
  workload::TrainingRun run;
  GraphRows rows{};               // with times
  std::vector<StepTime> steps{};  // of every step of the run's execution order
};

struct EtsLessons {
  MeasuredMachine machine;
  bool was_profiled = false;  // iterations ran under a profiler that slows the host
  std::vector<EtsLesson> lessons{};
  std::vector<std::string> skipped{};  // what could not be learned from, and why
};

// Those of a data set that are not noisy. Times are scaled so that they add up to the iteration without tracing.
Result<EtsLessons> ets_lessons(const profile::Dataset& dataset);

}  // namespace orrery::predict
