#pragma once
// Iterations measured on one machine, to learn from.

#include "predict/measured/step_model.h"
#include "profile/dataset/dataset_file.h"

namespace orrery::predict {

struct DatasetIteration {
  std::string key;  // of the configuration
  std::string family;
  bool is_noisy = false;
  MeasuredSteps steps;
};

// Where iterations were measured.
struct MeasuredMachine {
  std::string device = "CPU";  // as in hardware/device.h
  std::string name;            // processor, cores, memory
  std::string library;         // what ran the models
  std::uint32_t threads = 1;
};

struct MeasuredSet {
  MeasuredMachine machine;
  std::vector<DatasetIteration> iterations;
};

// What is learned from: the iterations that are not noisy.
std::vector<const MeasuredSteps*> undisturbed_steps(const std::vector<DatasetIteration>& iterations);

// A data set of this tool. Operators' times are scaled so that they add up to the iteration without tracing.
Result<MeasuredSet> measured_set(const profile::Dataset& dataset);

}  // namespace orrery::predict
