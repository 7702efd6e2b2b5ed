#pragma once
// Trains a model data-parallel on the present workers of the job (elastic/worker.h).
//
// The batch of a step is cut into micro-batches of equally many samples, which workers share; a rule (step_rule.h)
// decides how their parts become one model, and the rule can change between two steps. With synchronous steps the model
// does not depend on which workers took part, nor does the noise scale (elastic/monitor/noise_scale.h), which is
// estimated from the gradients of micro-batches: policies that decide by it decide the same on every worker.

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "elastic/job/enlist.h"
#include "elastic/monitor/interference.h"
#include "elastic/policy/policy.h"
#include "train/step_rule.h"

namespace orrery::train {

// When a training is over: after this many steps, or epochs over the data, whichever comes first.
struct TrainingGoal {
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t epochs = std::numeric_limits<std::uint64_t>::max();
};

// A committed step, as this worker saw it.
struct TrainedStep {
  std::uint64_t generation = 0, step = 0;
  std::uint64_t epoch = 0, begin = 0, end = 0;  // positions of its samples in the epoch
  std::optional<std::uint64_t> own_samples{};   // that this worker computed, in a synchronous step
  bool ends_epoch = false, ends_training = false;
  std::size_t workers = 0;
  std::uint64_t repeats = 0;  // how often this worker began it without success, because workers changed
  Strategy strategy = Strategy::kSynchronous;
  double loss = 0;  // mean over its samples, before it
  double learning_rate_scale = 1;
  std::optional<double> noise_scale{};  // in samples
};

// What the workers know about their training, the same on all of them. It consists of plain numbers, so that joining
// workers get it.
struct TrainingWatch {
  elastic::NoiseScale noise{};
  elastic::Ema straggler_index{.decay = 0.9};
  elastic::StepTimeFit step_time{};
  elastic::Interference interference{};
  double begun_s = 0, now_s = 0;  // by the clock of the first rank
  double last_batch = 0;          // of the last step

  void add(std::uint64_t step, const StepMetrics& metrics, double batch, double topology);
};

class Trainer {
 public:
  // Everything that is given outlives the trainer.
  Trainer(profile::Executor& executor, const workload::TrainingGraph& graph, const profile::LabelledData& data,
          const TrainerOptions& options, env::Env env);

  // Before join(): of a job of which this process is an initial worker. Later: from the step after the current one on,
  // if this is rank 0.
  void set_strategy(Strategy strategy);

  // Joins the job, or is one of its initial workers. A standby worker waits until it is needed.
  Status join();
  // Until the goal is reached or this process is no longer a worker.
  using AfterStep = std::function<Status(const TrainedStep&)>;
  // What the policies agreed on, and what was refused; reported on the worker that lets it take effect.
  using Adapted = std::function<void(const elastic::Agreement&)>;
  Status train(const TrainingGoal& goal, const AfterStep& after_step, elastic::PolicySet& policies,
               const Adapted& adapted);
  // Leaves the job. The model stays.
  void part();

  std::uint64_t step() const { return progress_.step; }
  elastic::Worker& worker() { return *worker_; }
  std::vector<float> parameters() const { return {state_.begin(), state_.begin() + context_.parameters}; }
  std::uint64_t digest() const;

 private:
  // Steps of the optimizer in one of the job.
  std::uint64_t steps_per_round(Strategy strategy) const { return is_synchronous(strategy) ? 1 : options_.period; }
  // Of the membership: for a step of the optimizer.
  std::uint64_t micro_batches_per_step() const;
  // What in the membership decides the next rounds.
  std::map<std::string, double> parameters_for(Strategy strategy, std::uint64_t micro_batches) const;
  bool is_over() const { return progress_.step >= goal_.steps || progress_.cursor.epoch >= goal_.epochs; }
  // Of the workers' parts of `micro_batches`; empty: alike.
  std::vector<std::uint64_t> weights(std::uint64_t micro_batches) const;
  // The rule of the membership's strategy.
  Status follow_membership();
  void commit(const elastic::StepCommitted& step);
  elastic::Observation observe() const;
  void ask(elastic::PolicySet& policies, elastic::Moment moment, const Adapted& adapted);
  std::span<std::byte> packed_state();

  env::Env env_;
  TrainerOptions options_;
  std::vector<float> state_;  // parameters, then their velocities, then the bytes of watch_
  TrainingContext context_;
  Strategy strategy_ = Strategy::kSynchronous;  // of the current step
  StepAtHand step_{};
  std::size_t workers_ = 0;  // that compute it
  double topology_ = 0;      // in which they do
  bool is_uneven_ = false;   // with parts that follow their speed
  // What a micro-batch takes, by rank of the membership of this generation. The same on all workers of it.
  std::vector<elastic::Ema> micro_batch_s_;
  std::uint64_t micro_batch_generation_ = 0;
  std::uint64_t attempts_ = 0;  // at it
  std::optional<std::uint64_t> own_samples_{};
  TrainingWatch watch_{};  // as of the last committed step
  Seconds last_commit_{0};
  double last_step_s_ = 0;  // from the commit before to the last one; 0: interrupted
  elastic::TrainingProgress progress_;
  TrainingGoal goal_{};
  Status committed_{};  // what went wrong in a commit
  AfterStep after_step_;
  std::unique_ptr<elastic::Worker> worker_;
  std::unique_ptr<StepRule> rule_;  // has memory of the worker, so it ends first
};

}  // namespace orrery::train
