#include "predict/neural/trainer.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "base/random.h"
#include "predict/learn/sealed.h"
#include "predict/neural/weights.h"

namespace orrery::predict {

namespace {

constexpr SealedKind kCheckpointKind{"orrery-training", 1, "checkpoint of a training", "a training"};
constexpr double kLossMemory = 0.99;  // per step

struct Checkpoint {
  std::uint64_t fingerprint = 0;
  double seconds = 0, loss = 0;
  NetworkState state;
};

std::string to_bytes(const Checkpoint& checkpoint) {
  ByteWriter body;
  body.u64(checkpoint.fingerprint);
  body.f64(checkpoint.seconds);
  body.f64(checkpoint.loss);
  write_state(checkpoint.state, body);
  return seal(kCheckpointKind, body.bytes());
}

Result<Checkpoint> parse_checkpoint(std::string_view bytes) {
  ORRERY_TRY(const std::string_view body, unseal(kCheckpointKind, bytes));
  ByteReader in(body);
  Checkpoint checkpoint;
  ORRERY_TRY(checkpoint.fingerprint, in.u64());
  ORRERY_TRY(checkpoint.seconds, in.f64());
  ORRERY_TRY(checkpoint.loss, in.f64());
  ORRERY_TRY(checkpoint.state, read_state(in));
  if (!in.at_end()) return Error::invalid("bytes behind its end");
  return checkpoint;
}

// The examples of each step.
class Order {
 public:
  Order(std::size_t examples, std::size_t batch, std::uint64_t seed)
      : random_(seed), order_(examples), batch_(std::min(batch, examples)) {}

  std::span<const std::uint32_t> step(std::uint64_t step) {
    const std::uint64_t per_epoch = order_.size() / batch_;
    const std::uint64_t epoch = step / per_epoch;
    if (epoch + 1 != shuffled_) shuffle(epoch);
    return std::span(order_).subspan((step % per_epoch) * batch_, batch_);
  }

 private:
  void shuffle(std::uint64_t epoch) {
    Random random = random_.split(epoch);
    std::iota(order_.begin(), order_.end(), 0U);
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
    shuffled_ = epoch + 1;
  }

  Random random_;
  std::vector<std::uint32_t> order_;
  std::size_t batch_;
  std::uint64_t shuffled_ = 0;  // epoch + 1; 0: none yet
};

std::uint64_t fingerprint_of(const Network& network, std::size_t examples, const TrainingPlan& plan,
                             std::uint64_t outer) {
  ByteWriter all;
  all.u64(outer);
  all.u64(examples);
  all.u64(plan.steps);
  all.u64(plan.batch);
  all.f64(plan.learning_rate);
  all.u8(static_cast<std::uint8_t>(plan.schedule));
  all.u64(plan.seed);
  if (plan.warm_up > 0) all.u64(plan.warm_up);
  write_options(network.options(), all);
  return hash64(all.bytes());
}

double rate_of(std::uint64_t step, const TrainingPlan& plan) {
  double rate = plan.learning_rate;
  if (plan.schedule == LearningRate::kFalling) {
    rate *= 1 - static_cast<double>(step) / static_cast<double>(plan.steps);
  }
  if (step < plan.warm_up) rate *= static_cast<double>(step + 1) / static_cast<double>(plan.warm_up);
  return rate;
}

class Training {
 public:
  Training(Network& network, const TrainingWatch& watch, std::uint64_t fingerprint)
      : network_(network), watch_(watch), fingerprint_(fingerprint), begin_(now()), saved_(begin_) {}

  Status resume() {
    if (watch_.checkpoint.empty() || !watch_.files->exists(watch_.checkpoint)) return {};
    ORRERY_TRY(const std::string bytes, watch_.files->read(watch_.checkpoint, kWeightsMax));
    auto checkpoint = parse_checkpoint(bytes);
    if (!checkpoint) return std::move(checkpoint).error().with_context(watch_.checkpoint);
    if (checkpoint->fingerprint != fingerprint_) {
      return Error::invalid(
          fmt::format("{} is of another training (other options, seed or data); remove it or choose "
                      "another place",
                      watch_.checkpoint));
    }
    ORRERY_TRY_VOID(network_.set_state(checkpoint->state));
    outcome_ = {checkpoint->state.steps, 0, checkpoint->loss};
    earlier_s_ = checkpoint->seconds;
    return {};
  }

  Status done(double loss) {
    ++outcome_.steps;
    outcome_.loss = outcome_.steps == 1 ? loss : kLossMemory * outcome_.loss + (1 - kLossMemory) * loss;
    if (watch_.progress) watch_.progress(outcome_.steps);
    if (watch_.checkpoint.empty() || now() - saved_ < watch_.checkpoint_every_s) return {};
    return save();
  }

  Status save() {
    if (watch_.checkpoint.empty()) return {};
    saved_ = now();
    return watch_.files->write_atomically(watch_.checkpoint,
                                          to_bytes({fingerprint_, seconds(), outcome_.loss, network_.state()}));
  }

  bool has_time() const { return seconds() < watch_.seconds_max; }
  double seconds() const { return earlier_s_ + now() - begin_; }
  std::uint64_t steps() const { return outcome_.steps; }
  TrainingOutcome outcome() const { return {outcome_.steps, seconds(), outcome_.loss}; }

 private:
  double now() const { return watch_.now_s ? watch_.now_s() : 0; }

  Network& network_;
  const TrainingWatch& watch_;
  std::uint64_t fingerprint_;
  double begin_, saved_;
  double earlier_s_ = 0;
  TrainingOutcome outcome_;
};

}  // namespace

Result<TrainingOutcome> train(Network& network, std::size_t examples, const FillBatch& fill, const TrainingPlan& plan,
                              const TrainingWatch& watch) {
  if (examples == 0 || plan.batch == 0) return Error::invalid("nothing to learn from");
  Training training(network, watch, fingerprint_of(network, examples, plan, watch.fingerprint));
  ORRERY_TRY_VOID(training.resume());
  Order order(examples, plan.batch, plan.seed);
  NetworkBatch batch;
  while (training.steps() < plan.steps && training.has_time()) {
    batch.clear();
    fill(order.step(training.steps()), batch);
    ORRERY_TRY(const double loss, network.learn(batch, rate_of(training.steps(), plan)));
    ORRERY_TRY_VOID(training.done(loss));
    if (watch.is_enough && watch.is_enough()) break;
  }
  ORRERY_TRY_VOID(training.save());
  return training.outcome();
}

}  // namespace orrery::predict
