#pragma once
// Networks on single operators, whose predicted times add up to the iteration.
//
//   kHabitat  Yu et al., "Habitat" (ATC 2021): 8 hidden layers, relative error, Adam 5e-4, weight decay 1e-4, batch
//   512.
//             Ours are 128 wide instead of 1024, and minimise |log(predicted / measured)|, which is the relative error
//             while it is small and trains in minutes.
//   kJustus   Justus et al. (BigData 2018): 32-64-128-128 with dropout 0.2 before a ReLU output, squared error of
//             log(1 + ms), L2 1e-5, Adam with epsilon 0.1 and rate 0.1 that falls, batch 128.
//
// Both see each step's sizes, the kind of operator one-hot, its phase and the optimizer.

#include "lab/baselines/mlp_regression.h"
#include "lab/lab.h"
#include "predict/measured/measured_dataset.h"

namespace orrery::lab {

enum class OperatorMlpForm { kHabitat, kJustus };

// As published up to the departures above; `steps` and `seed` are the plan's.
MlpOptions mlp_options(OperatorMlpForm form, std::uint64_t steps, std::uint64_t seed);
// The number such a network learns for a time, and the time it means.
double mlp_target(OperatorMlpForm form, double milliseconds);
double mlp_time(OperatorMlpForm form, double target);

class OperatorMlp {
 public:
  static Result<OperatorMlp> fit(std::span<const DatasetIteration* const> train, OperatorMlpForm form,
                                 std::uint64_t steps, std::uint64_t seed);

  Result<double> predict(const workload::TrainingRun& run) const;  // seconds

 private:
  OperatorMlp(OperatorMlpForm form, MlpRegression network) : form_(form), network_(std::move(network)) {}

  OperatorMlpForm form_;
  MlpRegression network_;
};

}  // namespace orrery::lab
