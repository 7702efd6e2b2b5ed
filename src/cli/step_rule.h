#pragma once
// How the members of a training make one step of the job out of their own parts of it.
//
// A rule computes and exchanges with results aside; they take effect in commit(), on all members or on none. After it
// all members have the same model, whatever the rule.

#include <memory>

#include "elastic/monitor/noise_scale.h"
#include "elastic/monitor/step_time.h"
#include "elastic/policy/proposal.h"
#include "elastic/worker.h"
#include "profile/executor.h"
#include "profile/training_data.h"

namespace orrery::cli {

struct TrainerOptions {
  std::uint64_t card = 16;    // samples; what the executor's graph takes at a time
  std::uint64_t batch = 128;  // samples per step of the optimizer, a multiple of that
  std::uint64_t seed = 1;     // of the order of samples
  double learning_rate = 0.02;
  double momentum = 0.9;
  std::uint64_t period = 8;   // steps of the optimizer in a round (rounds.cpp)
  std::uint64_t servers = 1;  // members that keep parameters for all, if there are so many
  // For experiments: a card takes this long at least, and so many times as long on one of the members.
  Seconds pace{0};
  std::uint64_t slow_member = 0;
  double slowdown = 1;
};

// What rules work on, all of it borrowed.
struct Learner {
  profile::Executor& executor;
  const workload::TrainingGraph& graph;
  const profile::LabelledData& data;
  const TrainerOptions& options;
  env::Clock& clock;
  std::vector<float>& state;  // parameters, then their velocities, then more
  std::ptrdiff_t parameters = 0;
  elastic::Worker* worker = nullptr;

  // The mean loss of a card's samples; `gradient` becomes their mean gradient.
  Result<double> compute_card(std::uint64_t card, const elastic::Permutation& order,
                              std::vector<float>& gradient) const;
};

// What every member tells all others in a step, so that all of them know the same.
struct Pulse {
  double card_s = 0;      // computing time of a card; 0: it had none
  double step_s = 0;      // what the step before took, from commit to commit; 0: not known
  double compute_s = 0;   // of that: until this member had computed
  double exchange_s = 0;  // from there to the end of its exchange; 0: not known
  double wall_s = 0;      // its clock
};

// The step at hand.
struct StepAtHand {
  elastic::TrainingProgress before;
  elastic::DataRange cards;      // of all ranks
  std::uint64_t full_cards = 0;  // of a step of the optimizer that does not end a pass
  // By rank, if ranks are not to have equally many cards.
  std::vector<std::uint64_t> weights{};
  double rate_scale = 1;   // of the learning rate
  double last_step_s = 0;  // see Pulse

  // Cards are positions in the order of all samples, so they hold others in every pass.
  elastic::Permutation order(std::uint64_t card_samples) const;
};

// Gathers the pulses of all members while the rule does other things.
class Pulses {
 public:
  // The computing of `cards` has ended now. `last`: of the step before, if it was one of gradients.
  Status send(const Learner& learner, const StepAtHand& step, Seconds computing, std::uint64_t cards,
              const elastic::RankTime& last = {});
  Status receive(const Learner& learner);
  // By rank, when received.
  std::span<const Pulse> by_rank() const { return all_; }

 private:
  Pulse own_{};
  std::vector<Pulse> all_;
  std::optional<elastic::Ticket> ticket_;
};

struct StepFigures {
  double loss = 0;                              // mean over its samples
  std::optional<elastic::NoiseSample> noise{};  // if the rule can tell
  std::vector<Pulse> pulses{};                  // by rank
};

class StepRule {
 public:
  virtual ~StepRule() = default;
  // kUnavailable if the view is over.
  virtual Status compute(const StepAtHand& step) = 0;
  virtual StepFigures commit(const StepAtHand& step) = 0;
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
// Pair averaging and asynchronous servers need memory that all members reach.
bool can_use(Strategy strategy, const elastic::View& view);

// If is_synchronous(strategy).
Result<std::unique_ptr<StepRule>> make_synchronous_steps(const Learner& learner, Strategy strategy);
// If not.
Result<std::unique_ptr<StepRule>> make_rounds(const Learner& learner, Strategy strategy);

}  // namespace orrery::cli
