#include "cli/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "elastic/policy/apply.h"
#include "elastic/policy/uneven.h"

namespace orrery::cli {

using elastic::StepOutcome;

namespace {

constexpr std::size_t kWatchFloats = sizeof(TrainingWatch) / sizeof(float);
static_assert(std::is_trivially_copyable_v<TrainingWatch>);

// Of the view: which Strategy.
constexpr const char* kStrategyParameter = "strategy";

double parameter_of(const elastic::View& view, const char* name, double otherwise) {
  const auto found = view.parameters.find(name);
  return found == view.parameters.end() ? otherwise : found->second;
}

Strategy strategy_of(const elastic::View& view) {
  return static_cast<Strategy>(static_cast<int>(parameter_of(view, kStrategyParameter, 0)));
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

Status Pulses::send(const Learner& learner, const StepAtHand& step, Seconds computing, std::uint64_t cards,
                    const elastic::RankTime& last) {
  own_ = {.card_s = cards > 0 ? computing.value() / static_cast<double>(cards) : 0,
          .step_s = step.last_step_s,
          .compute_s = last.compute_s,
          .exchange_s = step.last_step_s > 0 ? last.communication_s : 0,
          .wall_s = learner.clock.wall().value()};
  all_.resize(learner.worker->view().members.size());
  constexpr std::size_t kNumbers = sizeof(Pulse) / sizeof(double);
  ORRERY_TRY(ticket_,
             learner.worker->session().all_gather("pulses", {&own_, kNumbers, elastic::DataType::kF64},
                                                  {all_.data(), kNumbers * all_.size(), elastic::DataType::kF64}));
  return {};
}

Status Pulses::receive(const Learner& learner) {
  return learner.worker->session().wait(*ticket_);
}

void TrainingWatch::add(std::uint64_t step, const StepFigures& figures, double batch, double topology) {
  // A step of one card says nothing about noise; nor does one without numbers.
  if (figures.noise) (void)noise.add(*figures.noise);
  std::vector<elastic::RankTime> times, last;
  double step_s = 0;
  bool exchanged = true;
  for (const Pulse& pulse : figures.pulses) {
    if (pulse.card_s > 0) times.push_back({.compute_s = pulse.card_s, .communication_s = 0});
    last.push_back({pulse.compute_s, pulse.exchange_s});
    exchanged = exchanged && pulse.exchange_s > 0;
    step_s = std::max(step_s, pulse.step_s);
  }
  straggler_index.add(elastic::straggler_index(times));
  // It is that of the step before, of the same members. A round of several steps of the optimizer has no noise.
  if (step_s > 0 && figures.noise) step_time.add(static_cast<double>(figures.pulses.size()), last_batch, step_s);
  if (exchanged) {
    const double longest_s = std::ranges::max(elastic::split_step(last), {}, &elastic::StepTime::transfer_s).transfer_s;
    interference.add(step, longest_s, step_s, static_cast<double>(figures.pulses.size()), topology);
  }
  last_batch = batch;
  now_s = figures.pulses.front().wall_s;
  if (begun_s == 0) begun_s = now_s;
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

std::string_view name_of(Strategy strategy) {
  for (const auto& [name, known] : kStrategies) {
    if (known == strategy) return name;
  }
  return "";
}

std::optional<Strategy> strategy_named(std::string_view name) {
  for (const auto& [known, strategy] : kStrategies) {
    if (known == name) return strategy;
  }
  return std::nullopt;
}

bool can_use(Strategy strategy, const elastic::View& view) {
  const bool shares_memory = strategy == Strategy::kPair || strategy == Strategy::kServerAsync;
  return !shares_memory || std::ranges::all_of(view.members, [&](const elastic::MemberRecord& member) {
    return member.host == view.members.front().host;
  });
}

std::uint64_t Trainer::cards_per_step() const {
  return elastic::batch_of(worker_->view()) / steps_per_round(strategy_of(worker_->view()));
}

std::map<std::string, double> Trainer::parameters_for(Strategy strategy, std::uint64_t cards) const {
  return {{elastic::kBatchValue, static_cast<double>(cards * steps_per_round(strategy))},
          {kStrategyParameter, static_cast<double>(strategy)}};
}

Status Trainer::join(const env::Variables& variables) {
  ORRERY_TRY(state_, learner_.executor.parameters());
  learner_.parameters = static_cast<std::ptrdiff_t>(state_.size());
  state_.resize(2 * state_.size() + kWatchFloats);
  // The unit of the data is a card. A few samples may be left over at the end; every other one is used once per pass.
  const std::uint64_t samples = learner_.data.samples(), cards = samples / options_.card;
  if (cards == 0) {
    return Error::invalid(fmt::format("{} samples are fewer than one card of {}", samples, options_.card));
  }
  const elastic::Training training{cards, options_.seed, parameters_for(strategy_, options_.batch / options_.card)};
  ORRERY_TRY(elastic::WorkerOptions options, elastic::enlist(variables, training));
  options.commit = [this](const elastic::StepCommitted& step) { commit(step); };
  options.state = [this] { return packed_state(); };
  ORRERY_TRY(worker_, elastic::Worker::start(std::move(options)));
  std::memcpy(static_cast<void*>(&watch_), state_.data() + 2 * learner_.parameters, sizeof watch_);
  learner_.worker = worker_.get();
  progress_ = worker_->progress();
  return learner_.executor.set_parameters(std::span(state_).first(static_cast<std::size_t>(learner_.parameters)));
}

std::span<std::byte> Trainer::packed_state() {
  std::memcpy(state_.data() + 2 * learner_.parameters, &watch_, sizeof watch_);
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
  } else if (strategy != strategy_of(worker_->view())) {
    for (const auto& [name, value] : parameters_for(strategy, cards_per_step())) worker_->set_parameter(name, value);
  }
}

std::vector<std::uint64_t> Trainer::weights(std::uint64_t cards) const {
  constexpr double kFinest = 1000;
  double fastest_s = std::numeric_limits<double>::infinity();
  for (const elastic::Ema& card_s : card_s_) fastest_s = std::min(fastest_s, card_s.value().value_or(0));
  // Without a time of everyone there is nothing to compare.
  if (!is_uneven_ || card_s_.empty() || fastest_s <= 0) return {};
  std::vector<std::uint64_t> weights;
  for (const elastic::Ema& card_s : card_s_) {
    weights.push_back(static_cast<std::uint64_t>(std::lround(kFinest * fastest_s / *card_s.value())));
  }
  // Everyone has a card, so that everyone's speed stays known.
  const std::uint64_t least = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}) / cards + 1;
  for (std::uint64_t& weight : weights) weight = std::max(weight, least);
  return weights;
}

Status Trainer::follow_view() {
  const elastic::View& view = worker_->view();
  if (view.epoch != card_epoch_) {
    card_s_.assign(view.members.size(), elastic::Ema{.decay = 0.8});
    card_epoch_ = view.epoch;
  }
  is_uneven_ = parameter_of(view, elastic::kUnevenParameter, 0) > 0;
  step_.full_cards = cards_per_step();
  step_.rate_scale = parameter_of(worker_->view(), elastic::kLearningRateScale, 1);
  topology_ = parameter_of(worker_->view(), elastic::kTopologyParameter, 0);
  members_ = worker_->view().members.size();
  const Strategy strategy = strategy_of(worker_->view());
  if (!can_use(strategy, worker_->view())) {
    return Error::invalid(fmt::format(
        "--strategy {}: members are on several hosts, and it needs memory that all of them reach", name_of(strategy)));
  }
  if (rule_ != nullptr && strategy == strategy_) return {};
  strategy_ = strategy;
  // The memory of the old rule is free for the new one.
  rule_.reset();
  ORRERY_TRY(rule_,
             is_synchronous(strategy) ? make_synchronous_steps(learner_, strategy) : make_rounds(learner_, strategy));
  return {};
}

void Trainer::commit(const elastic::StepCommitted& step) {
  const StepFigures figures = rule_->commit(step_);
  committed_ = learner_.executor.set_parameters(std::span(state_).first(static_cast<std::size_t>(learner_.parameters)));
  progress_ = step.progress;
  for (std::size_t rank = 0; step.epoch == card_epoch_ && rank < figures.pulses.size(); ++rank) {
    if (figures.pulses[rank].card_s > 0) card_s_[rank].add(figures.pulses[rank].card_s);
  }
  watch_.add(progress_.step, figures, static_cast<double>(step_.cards.size() * options_.card), topology_);
  const bool is_even = attempts_ == 1 && last_commit_ > Seconds(0);
  const Seconds now = learner_.clock.monotonic();
  last_step_s_ = is_even ? (now - last_commit_).value() : 0;
  last_commit_ = now;
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
                            .noise_scale = watch_.noise.value()});
}

elastic::Observation Trainer::observe() const {
  elastic::Observation observation;
  observation.step = progress_.step;
  observation.pass = progress_.cursor.pass;
  observation.workers = static_cast<double>(members_);
  observation.batch = static_cast<double>(step_.full_cards * options_.card);
  observation.first_batch = static_cast<double>(options_.batch);
  observation.learning_rate_scale = step_.rate_scale;
  observation.gradient_square = watch_.noise.gradient_square.value();
  observation.noise = watch_.noise.noise.value();
  observation.elapsed_s = watch_.now_s - watch_.begun_s;
  observation.strategy = name_of(strategy_);
  for (const auto& [name, strategy] : kStrategies) {
    if (can_use(strategy, worker_->view())) observation.strategies.emplace_back(name);
  }
  observation.straggler_index = watch_.straggler_index.value();
  observation.step_time = watch_.step_time;
  observation.is_uneven = is_uneven_;
  observation.interference = watch_.interference.index();
  observation.slowdown = watch_.interference.slowdown();
  observation.exchange_s = watch_.interference.exchange.value();
  observation.topology = topology_;
  observation.topology_age = progress_.step - std::min(progress_.step, watch_.interference.topology_step);
  return observation;
}

void Trainer::ask(elastic::PolicySet& policies, elastic::Moment moment, const Adapted& adapted) {
  if (policies.size() == 0 || !worker_->has_session()) return;
  elastic::Agreement agreement = policies.ask(moment, observe());
  if (agreement.agreed.empty() && agreement.refused.empty()) return;
  if (worker_->rank() == 0) adapted(agreement);
  std::map<std::string, double>& values = agreement.agreed.values;
  const auto batch = values.find(elastic::kBatchValue);
  if (batch != values.end() || !agreement.agreed.strategy.empty()) {
    // The job counts in cards.
    const std::uint64_t cards =
        batch == values.end() ? step_.full_cards
                              : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(batch->second) / options_.card);
    const Strategy strategy = strategy_named(agreement.agreed.strategy).value_or(strategy_);
    for (const auto& [name, value] : parameters_for(strategy, cards)) values[name] = value;
  }
  elastic::apply(agreement.agreed, *worker_);
}

Status Trainer::train(const TrainingGoal& goal, const AfterStep& after_step, elastic::PolicySet& policies,
                      const Adapted& adapted) {
  using elastic::Moment;
  goal_ = goal;
  after_step_ = after_step;
  ORRERY_TRY_VOID(follow_view());
  // Whoever joins later has no say in what the others decided at their beginning.
  const bool is_beginning = progress_.step == 0;
  if (is_beginning) ask(policies, Moment::kBeforeTrain, adapted);
  std::uint64_t last_epoch = 0;
  for (bool is_new_pass = is_beginning; !is_over();) {
    if (is_new_pass) ask(policies, Moment::kBeforeEpoch, adapted);
    ask(policies, Moment::kBeforeStep, adapted);
    ORRERY_TRY_VOID(follow_view());
    const elastic::View& view = worker_->view();
    const elastic::TrainingProgress before = worker_->progress();
    step_ = {.before = before,
             .cards = elastic::next_batch(before.cursor, elastic::batch_of(view)),
             .full_cards = step_.full_cards,
             .weights = {},
             .rate_scale = step_.rate_scale,
             .last_step_s = view.epoch == last_epoch ? last_step_s_ : 0};
    step_.weights = weights(step_.cards.size());
    last_epoch = view.epoch;
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
