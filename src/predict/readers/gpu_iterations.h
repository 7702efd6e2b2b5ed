#pragma once
// Published launch traces of a GPU as iterations of the zoo's models: what the device was busy with, step by step.

#include "env/files.h"
#include "predict/measured/measured_dataset.h"
#include "predict/neural/ets_lessons.h"

namespace orrery::predict {

struct GpuIterations {
  MeasuredSet set;
  std::vector<std::string> skipped;  // traces that do not fit the zoo's graph of their model, and why
};

// Of the folder's traces of `gpu` those whose kernels ran one after the other.
Result<GpuIterations> gpu_iterations(env::Files& files, const std::string& folder, const std::string& gpu);

// The same traces with the waits of the device, as the ETS network learns them.
Result<EtsLessons> gpu_ets_lessons(env::Files& files, const std::string& folder, const std::string& gpu);

}  // namespace orrery::predict
