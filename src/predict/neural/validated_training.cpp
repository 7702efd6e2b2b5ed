#include "predict/neural/validated_training.h"

#include <algorithm>

#include "base/random.h"

namespace orrery::predict {

namespace {

constexpr double kGain = 0.01;  // an error that is smaller by less is the same

// The best parameters so far, and how long ago the error last fell.
class Best {
 public:
  Best(Network& network, const std::function<Result<double>()>& error) : network_(network), error_(error) {}

  // After this many steps.
  void check(std::uint64_t steps) {
    if (!status_) return;
    const Result<double> found = error_();
    if (!found) {
      status_ = found.error();
      return;
    }
    if (*found < (1 - kGain) * level_) {
      level_ = *found;
      gained_ = steps;
    }
    if (*found >= least_) return;
    least_ = *found;
    state_ = network_.state();
  }

  bool is_stuck(std::uint64_t steps, std::uint64_t patience) const { return !status_ || steps >= gained_ + patience; }

  Result<double> restore() {
    ORRERY_TRY_VOID(Status(status_));
    ORRERY_TRY_VOID(network_.set_state(state_));
    return least_;
  }

 private:
  Network& network_;
  const std::function<Result<double>()>& error_;
  Status status_;
  NetworkState state_ = network_.state();
  double least_ = std::numeric_limits<double>::infinity();
  double level_ = least_;     // the last error that was a gain
  std::uint64_t gained_ = 0;  // the steps before it
};

}  // namespace

Result<ValidatedOutcome> train_validated(Network& network, std::size_t examples, const FillBatch& fill,
                                         const ValidatedPlan& plan, const std::function<Result<double>()>& error,
                                         const TrainingWatch& watch) {
  if (error && !watch.checkpoint.empty()) {
    return Error::invalid("a training that is watched cannot be kept in a checkpoint");
  }
  Best best(network, error);
  std::uint64_t before = 0, done = 0;
  TrainingWatch watching = watch;
  watching.progress = [&](std::uint64_t steps) {
    done = before + steps;
    if (watch.progress) watch.progress(done);
    if (error && done % plan.check_every == 0) best.check(done);
  };
  ValidatedOutcome outcome;
  TrainingPlan falling = plan.plan;
  falling.schedule = LearningRate::kFalling;
  if (error && plan.patience > 0) {
    falling.steps = std::min(plan.patience, plan.plan.steps);
    TrainingPlan held = plan.plan;
    held.schedule = LearningRate::kConstant;
    held.steps -= falling.steps;
    watching.is_enough = [&] { return best.is_stuck(done, plan.patience); };
    ORRERY_TRY(outcome.training, train(network, examples, fill, held, watching));
    outcome.has_settled = outcome.training.steps < held.steps;
    watching.is_enough = {};
    watching.seconds_max -= outcome.training.seconds;
    before = outcome.training.steps;
    falling.warm_up = 0;
    falling.seed = mix64(plan.plan.seed);  // other batches than at the beginning
  }
  ORRERY_TRY(const TrainingOutcome end, train(network, examples, fill, falling, watching));
  outcome.training = {before + end.steps, outcome.training.seconds + end.seconds, end.loss};
  outcome.has_settled = outcome.has_settled && end.steps == falling.steps;
  if (!error) return outcome;
  best.check(done);
  ORRERY_TRY(outcome.error, best.restore());
  return outcome;
}

}  // namespace orrery::predict
