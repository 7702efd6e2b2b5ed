#pragma once
// Rows of `orrery evaluate ets-p3 --baselines`: Habitat (baselines/habitat.h) on the same configurations, from one GPU
// to the other and back, the networks learned from the configurations outside the fold.

#include "lab/baselines/habitat.h"
#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

struct HabitatInput {
  std::span<const LaunchTrace> one, other;  // traces of two GPUs
  Habitat::ClassOf class_of;
  std::function<std::string(const LaunchTrace&)> fold_of;  // the same for a configuration whatever the GPU
};

// Groups "A to B, configurations, Habitat trained here" and "…, wave scaling alone".
Status add_habitat(const HabitatInput& traces, const SuiteInput& input, SuiteReport& report);

}  // namespace orrery::lab
