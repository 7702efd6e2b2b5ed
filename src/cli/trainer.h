#pragma once
// Trains a model data-parallel with whoever belongs to the job at the moment (elastic/worker.h).
//
// The model after a step does not depend on who took part: it is that of one process, to the last bit.
//   - The batch of a step is cut into cards of equally many samples. Ranks share the cards; each card's gradients are
//     computed alone, by the same instructions wherever that is.
//   - Gradients are summed as whole numbers in units of 2^-30, exactly, so their order does not matter.
//   - They are divided by the samples of the step and take effect by SGD with momentum on all members or on none.
//   - The noise scale (elastic/monitor/noise_scale.h) is estimated from the gradients of cards, so it is the same, too,
//     and policies that decide by it decide the same wherever they are asked.

#include <functional>
#include <memory>
#include <vector>

#include "elastic/job/enlist.h"
#include "elastic/monitor/noise_scale.h"
#include "elastic/policy/policy.h"
#include "profile/executor.h"
#include "profile/training_data.h"

namespace orrery::cli {

struct TrainerOptions {
  std::uint64_t card = 16;    // samples; what the executor's graph takes at a time
  std::uint64_t batch = 128;  // samples per step, a multiple of that
  std::uint64_t seed = 1;     // of the order of samples
  double learning_rate = 0.02;
  double momentum = 0.9;
};

// A committed step, as this member saw it.
struct TrainedStep {
  std::uint64_t epoch = 0, step = 0;
  std::uint64_t pass = 0, begin = 0, end = 0;  // positions of its samples in the pass
  std::size_t members = 0;
  double loss = 0;  // mean over its samples, before it
  double learning_rate_scale = 1;
  std::optional<double> noise_scale{};  // in samples
};

class Trainer {
 public:
  // Everything that is given outlives the trainer.
  Trainer(profile::Executor& executor, const workload::TrainingGraph& graph, const profile::LabelledData& data,
          const TrainerOptions& options);

  // Joins the job, or founds it. Waits until it is needed if it is a spare.
  Status join(const env::Variables& variables);
  // Until `steps` are committed or this process is no member any more.
  using AfterStep = std::function<Status(const TrainedStep&)>;
  // What the policies agreed on, and what was refused; told on the member that lets it take effect.
  using Adapted = std::function<void(const elastic::Agreement&)>;
  Status train(std::uint64_t steps, const AfterStep& after_step, elastic::PolicySet& policies, const Adapted& adapted);
  // Leaves the job. The model stays.
  void part();

  bool reached(std::uint64_t steps) const { return progress_.step >= steps; }
  std::uint64_t step() const { return progress_.step; }
  std::uint64_t steps_per_pass() const;
  elastic::Worker& worker() { return *worker_; }
  std::vector<float> parameters() const { return {state_.begin(), state_.begin() + parameters_}; }
  std::uint64_t digest() const;

 private:
  Status add_gradients();
  Status add_card(std::uint64_t card, const elastic::Permutation& order);
  Status exchange();
  void commit(const elastic::StepCommitted& step);
  Status allocate_buckets();
  elastic::Observation observe() const;
  void ask(elastic::PolicySet& policies, elastic::Moment moment, const Adapted& adapted);
  std::span<std::byte> packed_state();

  profile::Executor& executor_;
  const workload::TrainingGraph& graph_;
  const profile::LabelledData& data_;
  TrainerOptions options_;
  std::ptrdiff_t parameters_ = 0;
  std::vector<float> state_;          // parameters, then their velocities, then the bytes of noise_
  std::vector<std::int64_t> sums_;    // gradients, loss and square norms of this step, summed over own cards
  elastic::NoiseScale noise_{};       // as of the last committed step
  elastic::TrainingProgress before_;  // before the step at hand
  elastic::DataRange cards_{};        // of all ranks in it
  std::size_t members_ = 0;           // that compute it
  double rate_scale_ = 1;             // of the learning rate, in it
  elastic::TrainingProgress progress_;
  Status committed_{};  // what went wrong in a commit
  AfterStep after_step_;
  std::unique_ptr<elastic::Worker> worker_;
  std::vector<elastic::ArenaBuffer> buckets_;  // the same, summed over all ranks; they end before the worker
};

}  // namespace orrery::cli
