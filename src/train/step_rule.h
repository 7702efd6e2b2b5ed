#pragma once
// How the workers of a training make one step of the job out of their own parts of it.
//
// A rule computes and exchanges with results aside; they take effect in commit(), on all workers or on none. After it
// all workers have the same model, under every rule.

#include <memory>

#include "elastic/monitor/noise_scale.h"
#include "elastic/monitor/step_time.h"
#include "elastic/policy/proposal.h"
#include "elastic/worker.h"
#include "profile/executor.h"
#include "profile/training_data.h"

namespace orrery::train {

struct TrainerOptions {
  std::uint64_t micro_batch = 16;  // samples; what the executor's graph takes at a time
  std::uint64_t batch = 128;       // samples per step of the optimizer, a multiple of that
  std::uint64_t seed = 1;          // of the order of samples
  double learning_rate = 0.02;
  double momentum = 0.9;
  std::uint64_t period = 8;   // steps of the optimizer in a round (rounds.cpp)
  std::uint64_t servers = 1;  // workers that keep parameters for all, if there are as many
  // For experiments: a micro-batch takes this long at least, and this many times as long on one of the workers.
  Seconds pace{0};
  std::uint64_t slow_worker = 0;
  double slowdown = 1;
};

// What rules work on, all of it borrowed.
struct TrainingContext {
  profile::Executor& executor;
  const workload::TrainingGraph& graph;
  const profile::LabelledData& data;
  const TrainerOptions& options;
  env::Clock& clock;
  std::vector<float>& state;  // parameters, then their velocities, then more
  std::ptrdiff_t parameters = 0;
  elastic::Worker* worker = nullptr;

  // The mean loss of a micro-batch's samples; `gradient` becomes their mean gradient.
  Result<double> compute_micro_batch(std::uint64_t micro_batch, const elastic::Permutation& order,
                                     std::vector<float>& gradient) const;
};

// What every worker sends all others in a step, so that all of them know the same.
struct Telemetry {
  double micro_batch_s = 0;  // computing time of a micro-batch; 0: it had none
  double step_s = 0;         // what the step before took, from commit to commit; 0: not known
  double compute_s = 0;      // of that: until this worker had computed
  double exchange_s = 0;     // from there to the end of its exchange; 0: not known
  double wall_s = 0;         // its clock
};

// The current step.
struct StepAtHand {
  elastic::TrainingProgress before;
  elastic::DataRange micro_batches;      // of all ranks
  std::uint64_t full_micro_batches = 0;  // of a step of the optimizer that does not end an epoch
  // By rank, if ranks are not to have equally many micro-batches.
  std::vector<std::uint64_t> weights{};
  double rate_scale = 1;   // of the learning rate
  double last_step_s = 0;  // see Telemetry

  // Micro-batches are positions in the order of all samples, so they contain other samples in every epoch.
  elastic::Permutation order(std::uint64_t micro_batch_samples) const;
};

// Gathers the telemetry of all workers while the rule does other work.
class TelemetryExchange {
 public:
  // The computing of `micro_batches` has ended now. `last`: of the step before, if it was one of gradients.
  Status send(const TrainingContext& context, const StepAtHand& step, Seconds computing, std::uint64_t micro_batches,
              const elastic::RankTime& last = {});
  Status receive(const TrainingContext& context);
  // By rank, when received.
  std::span<const Telemetry> by_rank() const { return all_; }

 private:
  Telemetry own_{};
  std::vector<Telemetry> all_;
  std::optional<elastic::Ticket> ticket_;
};

struct StepMetrics {
  double loss = 0;                              // mean over its samples
  std::optional<elastic::NoiseSample> noise{};  // if the rule measures it
  std::vector<Telemetry> telemetry{};           // by rank
};

class StepRule {
 public:
  virtual ~StepRule() = default;
  // kUnavailable if the membership is over.
  virtual Status compute(const StepAtHand& step) = 0;
  virtual StepMetrics commit(const StepAtHand& step) = 0;
};

enum class Strategy { kSynchronous, kLocal, kPair, kServer, kServerAsync };
inline constexpr std::pair<std::string_view, Strategy> kStrategies[] = {
    {elastic::kSynchronousStrategy, Strategy::kSynchronous},
    {elastic::kLocalStrategy, Strategy::kLocal},
    {elastic::kPairStrategy, Strategy::kPair},
    {elastic::kServerStrategy, Strategy::kServer},
    {elastic::kServerAsyncStrategy, Strategy::kServerAsync}};
std::string_view name_of(Strategy strategy);
std::optional<Strategy> strategy_named(std::string_view name);
// One step of the optimizer at a time, with the gradient of all samples; the others make rounds of several.
constexpr bool is_synchronous(Strategy strategy) {
  return strategy == Strategy::kSynchronous || strategy == Strategy::kServer;
}
// Pair averaging and asynchronous servers need memory that all workers reach.
bool can_use(Strategy strategy, const elastic::Membership& membership);

// If is_synchronous(strategy).
Result<std::unique_ptr<StepRule>> make_synchronous_steps(const TrainingContext& context, Strategy strategy);
// If not.
Result<std::unique_ptr<StepRule>> make_rounds(const TrainingContext& context, Strategy strategy);

}  // namespace orrery::train
