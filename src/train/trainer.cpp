#include "train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <numeric>

#include "base/check.h"
#include "base/random.h"
#include "elastic/policy/apply.h"
#include "elastic/policy/uneven.h"

namespace orrery::train {

using elastic::StepOutcome;

namespace {

constexpr std::size_t kWatchFloats = sizeof(TrainingWatch) / sizeof(float);
static_assert(std::is_trivially_copyable_v<TrainingWatch>);

// Of the membership: which Strategy.
constexpr const char* kStrategyParameter = "strategy";

double parameter_of(const elastic::Membership& membership, const char* name, double otherwise) {
  const auto found = membership.parameters.find(name);
  return found == membership.parameters.end() ? otherwise : found->second;
}

Strategy strategy_of(const elastic::Membership& membership) {
  return static_cast<Strategy>(static_cast<int>(parameter_of(membership, kStrategyParameter, 0)));
}

}  // namespace

Result<double> TrainingContext::compute_micro_batch(std::uint64_t micro_batch, const elastic::Permutation& order,
                                                    std::vector<float>& gradient) const {
  const Seconds start = clock.monotonic();
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < options.micro_batch; ++i)
    samples.push_back(order.sample(micro_batch * options.micro_batch + i));
  ORRERY_TRY_VOID(data.feed_samples(executor, graph, samples));
  ORRERY_TRY(const double loss, executor.compute_gradients());
  ORRERY_TRY(gradient, executor.gradients());
  const Seconds taken = clock.monotonic() - start;
  const double factor = options.slow_worker == worker->id() ? options.slowdown : 1;
  const Seconds rest = Seconds(factor * std::max(taken.value(), options.pace.value())) - taken;
  if (rest > Seconds(0)) clock.sleep(rest);
  return loss;
}

Status TelemetryExchange::send(const TrainingContext& context, const StepAtHand& step, Seconds computing,
                               std::uint64_t micro_batches, const elastic::RankTime& last) {
  own_ = {.micro_batch_s = micro_batches > 0 ? computing.value() / static_cast<double>(micro_batches) : 0,
          .step_s = step.last_step_s,
          .compute_s = last.compute_s,
          .exchange_s = step.last_step_s > 0 ? last.communication_s : 0,
          .wall_s = context.clock.wall().value()};
  all_.resize(context.worker->membership().workers.size());
  constexpr std::size_t kNumbers = sizeof(Telemetry) / sizeof(double);
  ORRERY_TRY(ticket_,
             context.worker->session().all_gather("telemetry", {&own_, kNumbers, elastic::DataType::kF64},
                                                  {all_.data(), kNumbers * all_.size(), elastic::DataType::kF64}));
  return {};
}

Status TelemetryExchange::receive(const TrainingContext& context) {
  return context.worker->session().wait(*ticket_);
}

void TrainingWatch::add(std::uint64_t step, const StepMetrics& metrics, double batch, double topology) {
  // A step of one micro-batch gives no estimate of noise; nor does one without numbers.
  if (metrics.noise) (void)noise.add(*metrics.noise);
  std::vector<elastic::RankTime> times, last;
  double step_s = 0;
  bool exchanged = true;
  for (const Telemetry& telemetry : metrics.telemetry) {
    if (telemetry.micro_batch_s > 0) times.push_back({.compute_s = telemetry.micro_batch_s, .communication_s = 0});
    last.push_back({telemetry.compute_s, telemetry.exchange_s});
    exchanged = exchanged && telemetry.exchange_s > 0;
    step_s = std::max(step_s, telemetry.step_s);
  }
  straggler_index.add(elastic::straggler_index(times));
  // It is that of the step before, of the same workers. A round of several steps of the optimizer has no noise.
  if (step_s > 0 && metrics.noise) step_time.add(static_cast<double>(metrics.telemetry.size()), last_batch, step_s);
  if (exchanged) {
    const double longest_s = std::ranges::max(elastic::split_step(last), {}, &elastic::StepTime::transfer_s).transfer_s;
    interference.add(step, longest_s, step_s, static_cast<double>(metrics.telemetry.size()), topology);
  }
  last_batch = batch;
  now_s = metrics.telemetry.front().wall_s;
  if (begun_s == 0) begun_s = now_s;
}

elastic::Permutation StepAtHand::order(std::uint64_t micro_batch_samples) const {
  const elastic::DataCursor& cursor = before.cursor;
  return elastic::order_of(
      {.samples = cursor.samples * micro_batch_samples, .seed = cursor.seed, .epoch = cursor.epoch, .offset = 0});
}

Trainer::Trainer(profile::Executor& executor, const workload::TrainingGraph& graph, const profile::LabelledData& data,
                 const TrainerOptions& options, env::Env env)
    : env_(env), options_(options), context_{executor, graph, data, options_, env.clock, state_} {
  ORRERY_CHECK(options.micro_batch > 0 && options.batch > 0 && options.batch % options.micro_batch == 0);
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

bool can_use(Strategy strategy, const elastic::Membership& membership) {
  const bool shares_memory = strategy == Strategy::kPair || strategy == Strategy::kServerAsync;
  return !shares_memory || std::ranges::all_of(membership.workers, [&](const elastic::WorkerRecord& worker) {
    return worker.host == membership.workers.front().host;
  });
}

std::uint64_t Trainer::micro_batches_per_step() const {
  return elastic::batch_of(worker_->membership()) / steps_per_round(strategy_of(worker_->membership()));
}

std::map<std::string, double> Trainer::parameters_for(Strategy strategy, std::uint64_t micro_batches) const {
  return {{elastic::kBatchValue, static_cast<double>(micro_batches * steps_per_round(strategy))},
          {kStrategyParameter, static_cast<double>(strategy)}};
}

Status Trainer::join() {
  ORRERY_TRY(state_, context_.executor.parameters());
  context_.parameters = static_cast<std::ptrdiff_t>(state_.size());
  state_.resize(2 * state_.size() + kWatchFloats);
  // The unit of the data is a micro-batch. A few samples may be left over at the end; every other one is used once per
  // epoch.
  const std::uint64_t samples = context_.data.samples(), micro_batches = samples / options_.micro_batch;
  if (micro_batches == 0) {
    return Error::invalid(
        fmt::format("{} samples are fewer than one micro-batch of {}", samples, options_.micro_batch));
  }
  const elastic::Training training{micro_batches, options_.seed,
                                   parameters_for(strategy_, options_.batch / options_.micro_batch)};
  ORRERY_TRY(elastic::WorkerOptions options, elastic::enlist(env_.variables, training));
  options.commit = [this](const elastic::StepCommitted& step) { commit(step); };
  options.state = [this] { return packed_state(); };
  ORRERY_TRY(worker_, elastic::Worker::start(env_, std::move(options)));
  std::memcpy(static_cast<void*>(&watch_), state_.data() + 2 * context_.parameters, sizeof watch_);
  context_.worker = worker_.get();
  progress_ = worker_->progress();
  return context_.executor.set_parameters(std::span(state_).first(static_cast<std::size_t>(context_.parameters)));
}

std::span<std::byte> Trainer::packed_state() {
  std::memcpy(state_.data() + 2 * context_.parameters, &watch_, sizeof watch_);
  return std::as_writable_bytes(std::span(state_));
}

void Trainer::part() {
  rule_.reset();
  worker_.reset();
}

std::uint64_t Trainer::digest() const {
  const auto bytes = static_cast<std::size_t>(context_.parameters) * sizeof(float);
  return hash64({reinterpret_cast<const char*>(state_.data()), bytes});
}

void Trainer::set_strategy(Strategy strategy) {
  if (worker_ == nullptr) {
    strategy_ = strategy;
  } else if (strategy != strategy_of(worker_->membership())) {
    for (const auto& [name, value] : parameters_for(strategy, micro_batches_per_step()))
      worker_->set_parameter(name, value);
  }
}

std::vector<std::uint64_t> Trainer::weights(std::uint64_t micro_batches) const {
  constexpr double kFinest = 1000;
  double fastest_s = std::numeric_limits<double>::infinity();
  for (const elastic::Ema& micro_batch_s : micro_batch_s_)
    fastest_s = std::min(fastest_s, micro_batch_s.value().value_or(0));
  // Without a time of every worker there is nothing to compare.
  if (!is_uneven_ || micro_batch_s_.empty() || fastest_s <= 0) return {};
  std::vector<std::uint64_t> weights;
  for (const elastic::Ema& micro_batch_s : micro_batch_s_) {
    weights.push_back(static_cast<std::uint64_t>(std::lround(kFinest * fastest_s / *micro_batch_s.value())));
  }
  // Every worker has a micro-batch, so that its speed stays known.
  const std::uint64_t least = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}) / micro_batches + 1;
  for (std::uint64_t& weight : weights) weight = std::max(weight, least);
  return weights;
}

Status Trainer::follow_membership() {
  const elastic::Membership& membership = worker_->membership();
  if (membership.generation != micro_batch_generation_) {
    micro_batch_s_.assign(membership.workers.size(), elastic::Ema{.decay = 0.8});
    micro_batch_generation_ = membership.generation;
  }
  is_uneven_ = parameter_of(membership, elastic::kUnevenParameter, 0) > 0;
  step_.full_micro_batches = micro_batches_per_step();
  step_.rate_scale = parameter_of(worker_->membership(), elastic::kLearningRateScale, 1);
  topology_ = parameter_of(worker_->membership(), elastic::kTopologyParameter, 0);
  workers_ = worker_->membership().workers.size();
  const Strategy strategy = strategy_of(worker_->membership());
  if (!can_use(strategy, worker_->membership())) {
    return Error::invalid(fmt::format(
        "--strategy {}: workers are on several hosts, and it needs memory that all of them reach", name_of(strategy)));
  }
  if (rule_ != nullptr && strategy == strategy_) return {};
  strategy_ = strategy;
  // The memory of the old rule is free for the new one.
  rule_.reset();
  ORRERY_TRY(rule_,
             is_synchronous(strategy) ? make_synchronous_steps(context_, strategy) : make_rounds(context_, strategy));
  return {};
}

void Trainer::commit(const elastic::StepCommitted& step) {
  const StepMetrics metrics = rule_->commit(step_);
  committed_ = context_.executor.set_parameters(std::span(state_).first(static_cast<std::size_t>(context_.parameters)));
  progress_ = step.progress;
  for (std::size_t rank = 0; step.generation == micro_batch_generation_ && rank < metrics.telemetry.size(); ++rank) {
    if (metrics.telemetry[rank].micro_batch_s > 0) micro_batch_s_[rank].add(metrics.telemetry[rank].micro_batch_s);
  }
  watch_.add(progress_.step, metrics, static_cast<double>(step_.micro_batches.size() * options_.micro_batch),
             topology_);
  const bool is_even = attempts_ == 1 && last_commit_ > Seconds(0);
  const Seconds now = context_.clock.monotonic();
  last_step_s_ = is_even ? (now - last_commit_).value() : 0;
  last_commit_ = now;
  if (!committed_ || !after_step_) return;
  committed_ = after_step_({.generation = step.generation,
                            .step = step.progress.step,
                            .epoch = step_.before.cursor.epoch,
                            .begin = step_.micro_batches.begin * options_.micro_batch,
                            .end = step_.micro_batches.end * options_.micro_batch,
                            .own_samples = own_samples_,
                            .ends_epoch = progress_.cursor.epoch != step_.before.cursor.epoch,
                            .ends_training = is_over(),
                            .workers = workers_,
                            .repeats = std::exchange(attempts_, 0) - 1,
                            .strategy = strategy_,
                            .loss = metrics.loss,
                            .learning_rate_scale = step_.rate_scale,
                            .noise_scale = watch_.noise.value()});
}

elastic::Observation Trainer::observe() const {
  elastic::Observation observation;
  observation.step = progress_.step;
  observation.epoch = progress_.cursor.epoch;
  observation.workers = static_cast<double>(workers_);
  observation.batch = static_cast<double>(step_.full_micro_batches * options_.micro_batch);
  observation.first_batch = static_cast<double>(options_.batch);
  observation.learning_rate_scale = step_.rate_scale;
  observation.gradient_square = watch_.noise.gradient_square.value();
  observation.noise = watch_.noise.noise.value();
  observation.elapsed_s = watch_.now_s - watch_.begun_s;
  observation.strategy = name_of(strategy_);
  for (const auto& [name, strategy] : kStrategies) {
    if (can_use(strategy, worker_->membership())) observation.strategies.emplace_back(name);
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
    // The job counts in micro-batches.
    const std::uint64_t micro_batches =
        batch == values.end()
            ? step_.full_micro_batches
            : std::max<std::uint64_t>(1, static_cast<std::uint64_t>(batch->second) / options_.micro_batch);
    const Strategy strategy = strategy_named(agreement.agreed.strategy).value_or(strategy_);
    for (const auto& [name, value] : parameters_for(strategy, micro_batches)) values[name] = value;
  }
  elastic::apply(agreement.agreed, *worker_);
}

Status Trainer::train(const TrainingGoal& goal, const AfterStep& after_step, elastic::PolicySet& policies,
                      const Adapted& adapted) {
  using elastic::Moment;
  goal_ = goal;
  after_step_ = after_step;
  ORRERY_TRY_VOID(follow_membership());
  // A worker that joins later takes no part in what the others decided at their beginning.
  const bool is_beginning = progress_.step == 0;
  if (is_beginning) ask(policies, Moment::kBeforeTrain, adapted);
  std::uint64_t last_generation = 0;
  for (bool is_new_epoch = is_beginning; !is_over();) {
    if (is_new_epoch) ask(policies, Moment::kBeforeEpoch, adapted);
    ask(policies, Moment::kBeforeStep, adapted);
    ORRERY_TRY_VOID(follow_membership());
    const elastic::Membership& membership = worker_->membership();
    const elastic::TrainingProgress before = worker_->progress();
    step_ = {.before = before,
             .micro_batches = elastic::next_batch(before.cursor, elastic::batch_of(membership)),
             .full_micro_batches = step_.full_micro_batches,
             .weights = {},
             .rate_scale = step_.rate_scale,
             .last_step_s = membership.generation == last_generation ? last_step_s_ : 0};
    step_.weights = weights(step_.micro_batches.size());
    own_samples_.reset();
    if (is_synchronous(strategy_)) own_samples_ = worker_->own_samples(step_.weights).size() * options_.micro_batch;
    last_generation = membership.generation;
    ++attempts_;
    ORRERY_TRY(const StepOutcome outcome, worker_->finish_step(rule_->compute(step_)));
    ORRERY_TRY_VOID(committed_);
    if (outcome == StepOutcome::kEnded) break;
    is_new_epoch = progress_.cursor.epoch != before.cursor.epoch;
    if (progress_.step > before.step) ask(policies, Moment::kAfterStep, adapted);
    if (is_new_epoch) ask(policies, Moment::kAfterEpoch, adapted);
  }
  ask(policies, Moment::kAfterTrain, adapted);
  return {};
}

}  // namespace orrery::train
