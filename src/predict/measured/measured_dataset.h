#pragma once
// A data set of this tool as iterations to learn from.

#include "predict/measured/step_model.h"
#include "profile/dataset/dataset_file.h"

namespace orrery::predict {

struct DatasetIteration {
  std::string key;  // of the configuration
  std::string family;
  bool is_noisy = false;
  MeasuredSteps steps;
};

// Operators' times are scaled so that they add up to the iteration without tracing.
Result<std::vector<DatasetIteration>> iterations_of(const profile::Dataset& dataset);

}  // namespace orrery::predict
