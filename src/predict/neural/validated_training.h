#pragma once
// Trains a network while measuring its error on examples it does not learn from, keeps the best parameters it had, and
// finds the end by itself.
//
// Without patience the learning rate falls over all of the plan's steps. With patience P it is held until the error has
// not fallen by 1 % for P steps, and then falls to 0 within P more: a longer training would gain no more than that.
// `has_settled` is false where the plan's steps or the time were not enough.

#include "predict/neural/trainer.h"

namespace orrery::predict {

struct ValidatedPlan {
  TrainingPlan plan{};              // its schedule is not looked at
  std::uint64_t patience = 0;       // steps; 0: none
  std::uint64_t check_every = 100;  // steps
};

struct ValidatedOutcome {
  TrainingOutcome training{};
  double error = 0;  // the least that was met
  bool has_settled = true;
};

// `error` is asked with the network as it is; an empty one means there is nothing to watch: no patience then, and the
// last parameters stay. A checkpoint is refused where there is something to watch.
Result<ValidatedOutcome> train_validated(Network& network, std::size_t examples, const FillBatch& fill,
                                         const ValidatedPlan& plan, const std::function<Result<double>()>& error,
                                         const TrainingWatch& watch);

}  // namespace orrery::predict
