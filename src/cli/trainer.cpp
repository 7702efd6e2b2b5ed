#include "cli/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"
#include "elastic/policy/apply.h"

namespace orrery::cli {

using elastic::StepOutcome;

namespace {

constexpr std::size_t kNoiseFloats = sizeof(elastic::NoiseScale) / sizeof(float);
static_assert(std::is_trivially_copyable_v<elastic::NoiseScale>);

// Of the view: which Strategy.
constexpr const char* kStrategyParameter = "strategy";

double parameter_of(const elastic::View& view, const char* name, double otherwise) {
  const auto found = view.parameters.find(name);
  return found == view.parameters.end() ? otherwise : found->second;
}

}  // namespace

Result<double> Learner::compute_card(std::uint64_t card, const elastic::Permutation& order,
                                     std::vector<float>& gradient) const {
  const Seconds start = clock.monotonic();
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < options.card; ++i) samples.push_back(order.sample(card * options.card + i));
  ORRERY_TRY_VOID(data.feed_samples(executor, graph, samples));
  ORRERY_TRY(const double loss, executor.compute_gradients());
  ORRERY_TRY(gradient, executor.gradients());
  const Seconds taken = clock.monotonic() - start;
  const double factor = options.slow_member == worker->id() ? options.slowdown : 1;
  const Seconds rest = Seconds(factor * std::max(taken.value(), options.pace.value())) - taken;
  if (rest > Seconds(0)) clock.sleep(rest);
  return loss;
}

elastic::Permutation StepAtHand::order(std::uint64_t card_samples) const {
  const elastic::DataCursor& cursor = before.cursor;
  return elastic::order_of(
      {.samples = cursor.samples * card_samples, .seed = cursor.seed, .pass = cursor.pass, .offset = 0});
}

Trainer::Trainer(profile::Executor& executor, const workload::TrainingGraph& graph, const profile::LabelledData& data,
                 const TrainerOptions& options, env::Clock& clock)
    : options_(options), learner_{executor, graph, data, options_, clock, state_} {
  ORRERY_CHECK(options.card > 0 && options.batch > 0 && options.batch % options.card == 0);
}

std::uint64_t Trainer::cards_per_step(Strategy strategy) const {
  return options_.batch / options_.card * (strategy == Strategy::kSynchronous ? 1 : options_.period);
}

Status Trainer::join(const env::Variables& variables) {
  ORRERY_TRY(state_, learner_.executor.parameters());
  learner_.parameters = static_cast<std::ptrdiff_t>(state_.size());
  state_.resize(2 * state_.size() + kNoiseFloats);
  // The unit of the data is a card. A few samples may be left over at the end; every other one is used once per pass.
  const std::uint64_t samples = learner_.data.samples(), cards = samples / options_.card;
  if (cards == 0) {
    return Error::invalid(fmt::format("{} samples are fewer than one card of {}", samples, options_.card));
  }
  const auto strategy = static_cast<double>(strategy_), per_step = static_cast<double>(cards_per_step(strategy_));
  elastic::Training training{cards, options_.seed, {{elastic::kBatchValue, per_step}, {kStrategyParameter, strategy}}};
  ORRERY_TRY(elastic::WorkerOptions options, elastic::enlist(variables, training));
  options.commit = [this](const elastic::StepCommitted& step) { commit(step); };
  options.state = [this] { return packed_state(); };
  ORRERY_TRY(worker_, elastic::Worker::start(std::move(options)));
  std::memcpy(static_cast<void*>(&noise_), state_.data() + 2 * learner_.parameters, sizeof noise_);
  learner_.worker = worker_.get();
  progress_ = worker_->progress();
  return learner_.executor.set_parameters(std::span(state_).first(static_cast<std::size_t>(learner_.parameters)));
}

std::span<std::byte> Trainer::packed_state() {
  std::memcpy(state_.data() + 2 * learner_.parameters, &noise_, sizeof noise_);
  return std::as_writable_bytes(std::span(state_));
}

void Trainer::part() {
  rule_.reset();
  worker_.reset();
}

std::uint64_t Trainer::digest() const {
  const auto bytes = static_cast<std::size_t>(learner_.parameters) * sizeof(float);
  return hash64({reinterpret_cast<const char*>(state_.data()), bytes});
}

void Trainer::set_strategy(Strategy strategy) {
  if (worker_ == nullptr) {
    strategy_ = strategy;
  } else if (worker_->rank() == 0 && strategy != strategy_) {
    worker_->set_parameter(kStrategyParameter, static_cast<double>(strategy));
    worker_->set_parameter(elastic::kBatchValue, static_cast<double>(cards_per_step(strategy)));
  }
}

Status Trainer::follow_view() {
  const auto strategy = static_cast<Strategy>(static_cast<int>(parameter_of(worker_->view(), kStrategyParameter, 0)));
  if (rule_ != nullptr && strategy == strategy_) return {};
  strategy_ = strategy;
  // The memory of the old rule is free for the new one.
  rule_.reset();
  ORRERY_TRY(rule_, strategy == Strategy::kSynchronous ? make_synchronous_steps(learner_)
                                                       : make_averaged_rounds(learner_, strategy));
  return {};
}

void Trainer::commit(const elastic::StepCommitted& step) {
  const StepFigures figures = rule_->commit(step_);
  committed_ = learner_.executor.set_parameters(std::span(state_).first(static_cast<std::size_t>(learner_.parameters)));
  progress_ = step.progress;
  // A step of one card says nothing about noise; nor does one without numbers.
  if (figures.noise) (void)noise_.add(*figures.noise);
  if (!committed_ || !after_step_) return;
  committed_ = after_step_({.epoch = step.epoch,
                            .step = step.progress.step,
                            .pass = step_.before.cursor.pass,
                            .begin = step_.cards.begin * options_.card,
                            .end = step_.cards.end * options_.card,
                            .ends_pass = progress_.cursor.pass != step_.before.cursor.pass,
                            .ends_training = is_over(),
                            .members = members_,
                            .repeats = std::exchange(attempts_, 0) - 1,
                            .strategy = strategy_,
                            .loss = figures.loss,
                            .learning_rate_scale = step_.rate_scale,
                            .noise_scale = noise_.value()});
}

elastic::Observation Trainer::observe() const {
  elastic::Observation observation;
  observation.step = progress_.step;
  observation.pass = progress_.cursor.pass;
  observation.workers = static_cast<double>(members_);
  observation.batch = static_cast<double>(elastic::batch_of(worker_->view()) * options_.card);
  observation.first_batch = static_cast<double>(options_.batch);
  observation.learning_rate_scale = step_.rate_scale;
  observation.gradient_square = noise_.gradient_square.value();
  observation.noise = noise_.noise.value();
  return observation;
}

void Trainer::ask(elastic::PolicySet& policies, elastic::Moment moment, const Adapted& adapted) {
  if (policies.size() == 0 || !worker_->has_session()) return;
  elastic::Agreement agreement = policies.ask(moment, observe());
  if (agreement.agreed.empty() && agreement.refused.empty()) return;
  if (worker_->rank() == 0) adapted(agreement);
  // The job counts in cards.
  if (const auto batch = agreement.agreed.values.find(elastic::kBatchValue); batch != agreement.agreed.values.end()) {
    batch->second = std::max(1.0, std::floor(batch->second / static_cast<double>(options_.card)));
  }
  elastic::apply(agreement.agreed, *worker_);
}

Status Trainer::train(const TrainingGoal& goal, const AfterStep& after_step, elastic::PolicySet& policies,
                      const Adapted& adapted) {
  using elastic::Moment;
  goal_ = goal;
  after_step_ = after_step;
  ask(policies, Moment::kBeforeTrain, adapted);
  for (bool is_new_pass = true; !is_over();) {
    if (is_new_pass) ask(policies, Moment::kBeforeEpoch, adapted);
    ask(policies, Moment::kBeforeStep, adapted);
    ORRERY_TRY_VOID(follow_view());
    const elastic::View& view = worker_->view();
    const elastic::TrainingProgress before = worker_->progress();
    step_ = {.before = before,
             .cards = elastic::next_batch(before.cursor, elastic::batch_of(view)),
             .rate_scale = parameter_of(view, elastic::kLearningRateScale, 1)};
    members_ = view.members.size();
    ++attempts_;
    ORRERY_TRY(const StepOutcome outcome, worker_->finish_step(rule_->compute(step_)));
    ORRERY_TRY_VOID(committed_);
    if (outcome == StepOutcome::kEnded) break;
    is_new_pass = progress_.cursor.pass != before.cursor.pass;
    if (progress_.step > before.step) ask(policies, Moment::kAfterStep, adapted);
    if (is_new_pass) ask(policies, Moment::kAfterEpoch, adapted);
  }
  ask(policies, Moment::kAfterTrain, adapted);
  return {};
}

}  // namespace orrery::cli
