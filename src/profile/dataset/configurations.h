#pragma once
// Random training configurations to measure: models of the zoo with varied hyper-parameters, and random graphs.
//
// Procedure (as ETS varies its models)
// 1. Every fourth configuration is a RandWire graph with its own wiring; the others cycle through the families.
// 2. Within a family: a variant, then one choice for each hyper-parameter the family varies, then a batch of 1 to 32
//    and an optimizer.
// 3. What cannot be built, or costs more than the limits, is drawn again, with half the batch.
// Configuration number i depends on the seed and i alone, so a data set can be continued.

#include <string>
#include <vector>

#include "base/random.h"
#include "workload/training_run.h"

namespace orrery::profile {

struct Configuration {
  std::string family;
  std::string model;  // as the zoo reads it: "resnet18:input=64,classes=10"
  std::int64_t batch = 1;
  workload::Optimizer optimizer = workload::Optimizer::kMomentum;

  std::string key() const;  // equal configurations have equal keys
};

struct ConfigurationLimits {
  Flops flops = Flops(12e9);     // of one step
  Bytes bytes = gigabytes(1.5);  // moved in one step
  std::size_t operators_max = 1200;
};

// The families that are drawn from, RandWire included.
std::vector<std::string> dataset_families();

Result<Configuration> draw_configuration(std::uint64_t seed, std::uint64_t number, const ConfigurationLimits& limits);

// The run of a configuration.
Result<workload::TrainingRun> run_of(const Configuration& configuration);

}  // namespace orrery::profile
