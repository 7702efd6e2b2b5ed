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

constexpr std::size_t kBucketElements = 16 << 10;
constexpr double kUnits = 1 << 30;       // per one
constexpr double kLargestSum = 1 << 20;  // of one card; leaves room for thousands of cards
// After the gradients: the loss, and the sum of the square norms of the cards' gradients.
constexpr std::size_t kFigures = 2;
constexpr std::size_t kNoiseFloats = sizeof(elastic::NoiseScale) / sizeof(float);
static_assert(std::is_trivially_copyable_v<elastic::NoiseScale>);

Result<std::int64_t> in_units(double value) {
  // Also false for what is no number.
  if (!(std::abs(value) < kLargestSum)) {
    return Error::invalid("the training diverges: a gradient or loss is too large; try a smaller --learning-rate");
  }
  return std::llrint(value * kUnits);
}

}  // namespace

Trainer::Trainer(profile::Executor& executor, const workload::TrainingGraph& graph, const profile::LabelledData& data,
                 const TrainerOptions& options)
    : executor_(executor), graph_(graph), data_(data), options_(options) {
  ORRERY_CHECK(options.card > 0 && options.batch > 0 && options.batch % options.card == 0);
}

std::uint64_t Trainer::steps_per_pass() const {
  const std::uint64_t cards = data_.samples() / options_.card, per_step = options_.batch / options_.card;
  return (cards + per_step - 1) / per_step;
}

Status Trainer::join(const env::Variables& variables) {
  ORRERY_TRY(std::vector<float> parameters, executor_.parameters());
  parameters_ = static_cast<std::ptrdiff_t>(parameters.size());
  state_ = std::move(parameters);
  state_.resize(2 * state_.size() + kNoiseFloats);
  sums_.resize(static_cast<std::size_t>(parameters_) + kFigures);
  // The unit of the data is a card. A few samples may be left over at the end; every other one is used once per pass.
  const std::uint64_t cards = data_.samples() / options_.card;
  if (cards == 0)
    return Error::invalid(fmt::format("{} samples are fewer than one card of {}", data_.samples(), options_.card));
  const std::uint64_t cards_per_step = options_.batch / options_.card;
  elastic::Training training{cards, options_.seed, {{"batch", static_cast<double>(cards_per_step)}}};
  ORRERY_TRY(elastic::WorkerOptions options, elastic::enlist(variables, training));
  options.commit = [this](const elastic::StepCommitted& step) { commit(step); };
  options.state = [this] { return packed_state(); };
  ORRERY_TRY(worker_, elastic::Worker::start(std::move(options)));
  std::memcpy(static_cast<void*>(&noise_), state_.data() + 2 * parameters_, sizeof noise_);
  progress_ = worker_->progress();
  ORRERY_TRY_VOID(executor_.set_parameters(std::span(state_).first(static_cast<std::size_t>(parameters_))));
  return allocate_buckets();
}

std::span<std::byte> Trainer::packed_state() {
  std::memcpy(state_.data() + 2 * parameters_, &noise_, sizeof noise_);
  return std::as_writable_bytes(std::span(state_));
}

Status Trainer::allocate_buckets() {
  for (std::size_t at = 0; at < sums_.size(); at += kBucketElements) {
    const std::size_t elements = std::min(kBucketElements, sums_.size() - at);
    auto bucket = worker_->arena().allocate(elements * sizeof(std::int64_t));
    if (!bucket) return std::move(bucket).error().with_context("gradients do not fit (`orrery run --arena`)");
    buckets_.push_back(std::move(*bucket));
  }
  return {};
}

void Trainer::part() {
  buckets_.clear();
  worker_.reset();
}

std::uint64_t Trainer::digest() const {
  return hash64({reinterpret_cast<const char*>(state_.data()), static_cast<std::size_t>(parameters_) * sizeof(float)});
}

Status Trainer::add_card(std::uint64_t card, const elastic::Permutation& order) {
  std::vector<std::uint64_t> samples;
  for (std::uint64_t i = 0; i < options_.card; ++i) samples.push_back(order.sample(card * options_.card + i));
  ORRERY_TRY_VOID(data_.feed_samples(executor_, graph_, samples));
  ORRERY_TRY(const double loss, executor_.compute_gradients());
  ORRERY_TRY(const std::vector<float> gradients, executor_.gradients());
  const auto weight = static_cast<double>(options_.card);
  double square = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const auto gradient = static_cast<double>(gradients[i]);
    ORRERY_TRY(const std::int64_t units, in_units(weight * gradient));
    sums_[i] += units;
    square += gradient * gradient;
  }
  const auto figures = std::span(sums_).last(kFigures);
  ORRERY_TRY(const std::int64_t loss_units, in_units(weight * loss));
  ORRERY_TRY(const std::int64_t square_units, in_units(square));
  figures[0] += loss_units;
  figures[1] += square_units;
  return {};
}

Status Trainer::add_gradients() {
  std::fill(sums_.begin(), sums_.end(), 0);
  const elastic::DataCursor& cursor = before_.cursor;
  // Cards are positions in the order of all samples, so they hold others in every pass.
  const elastic::Permutation order = elastic::order_of(
      {.samples = cursor.samples * options_.card, .seed = cursor.seed, .pass = cursor.pass, .offset = 0});
  const elastic::DataRange mine = worker_->own_samples();
  for (std::uint64_t card = mine.begin; card < mine.end; ++card) ORRERY_TRY_VOID(add_card(card, order));
  return {};
}

Status Trainer::exchange() {
  std::vector<elastic::Ticket> tickets;
  Status status;
  for (std::size_t i = 0; i < buckets_.size() && status; ++i) {
    std::memcpy(buckets_[i].data(), sums_.data() + i * kBucketElements, buckets_[i].size());
    const auto ticket = worker_->session().all_reduce(
        fmt::format("gradients {}", i),
        {buckets_[i].data(), buckets_[i].size() / sizeof(std::int64_t), elastic::DataType::kI64},
        elastic::ReduceOp::kSum);
    if (ticket) {
      tickets.push_back(*ticket);
    } else {
      status = ticket.error();
    }
  }
  for (const elastic::Ticket& ticket : tickets) {
    const Status ended = worker_->session().wait(ticket);
    if (status) status = ended;
  }
  return status;
}

void Trainer::commit(const elastic::StepCommitted& step) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    std::memcpy(sums_.data() + i * kBucketElements, buckets_[i].data(), buckets_[i].size());
  }
  const auto cards = static_cast<double>(cards_.size());
  const double samples = cards * static_cast<double>(options_.card);
  float* const parameters = state_.data();
  float* const velocities = parameters + parameters_;
  const auto momentum = static_cast<float>(options_.momentum),
             rate = static_cast<float>(rate_scale_ * options_.learning_rate);
  double mean_square = 0;
  for (std::ptrdiff_t i = 0; i < parameters_; ++i) {
    const auto gradient =
        static_cast<float>(static_cast<double>(sums_[static_cast<std::size_t>(i)]) / kUnits / samples);
    mean_square += static_cast<double>(gradient) * static_cast<double>(gradient);
    velocities[i] = momentum * velocities[i] + gradient;
    parameters[i] -= rate * velocities[i];
  }
  committed_ = executor_.set_parameters(std::span(state_).first(static_cast<std::size_t>(parameters_)));
  progress_ = step.progress;
  const auto figures = std::span(sums_).last(kFigures);
  // A step of one card says nothing about noise; nor does one without numbers.
  (void)noise_.add({.local_square = static_cast<double>(figures[1]) / kUnits / cards,
                    .inverse_batch = 1 / static_cast<double>(options_.card),
                    .mean_square = mean_square,
                    .batch = samples});
  if (!committed_ || !after_step_) return;
  committed_ = after_step_({.epoch = step.epoch,
                            .step = step.progress.step,
                            .pass = before_.cursor.pass,
                            .begin = cards_.begin * options_.card,
                            .end = cards_.end * options_.card,
                            .members = members_,
                            .loss = static_cast<double>(figures[0]) / kUnits / samples,
                            .learning_rate_scale = rate_scale_,
                            .noise_scale = noise_.value()});
}

elastic::Observation Trainer::observe() const {
  elastic::Observation observation;
  observation.step = progress_.step;
  observation.pass = progress_.cursor.pass;
  observation.workers = static_cast<double>(members_);
  observation.batch = static_cast<double>(elastic::batch_of(worker_->view()) * options_.card);
  observation.first_batch = static_cast<double>(options_.batch);
  observation.learning_rate_scale = rate_scale_;
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

Status Trainer::train(std::uint64_t steps, const AfterStep& after_step, elastic::PolicySet& policies,
                      const Adapted& adapted) {
  using elastic::Moment;
  after_step_ = after_step;
  ask(policies, Moment::kBeforeTrain, adapted);
  for (bool is_new_pass = true; !reached(steps);) {
    if (is_new_pass) ask(policies, Moment::kBeforeEpoch, adapted);
    ask(policies, Moment::kBeforeStep, adapted);
    before_ = worker_->progress();
    cards_ = elastic::next_batch(before_.cursor, elastic::batch_of(worker_->view()));
    members_ = worker_->view().members.size();
    const auto scale = worker_->view().parameters.find(elastic::kLearningRateScale);
    rate_scale_ = scale == worker_->view().parameters.end() ? 1 : scale->second;
    ORRERY_TRY_VOID(add_gradients());
    ORRERY_TRY(const StepOutcome outcome, worker_->finish_step(exchange()));
    ORRERY_TRY_VOID(committed_);
    if (outcome == StepOutcome::kEnded) break;
    is_new_pass = progress_.cursor.pass != before_.cursor.pass;
    if (progress_.step > before_.step) ask(policies, Moment::kAfterStep, adapted);
    if (is_new_pass) ask(policies, Moment::kAfterEpoch, adapted);
  }
  ask(policies, Moment::kAfterTrain, adapted);
  return {};
}

}  // namespace orrery::cli
