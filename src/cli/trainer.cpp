#include "cli/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "base/check.h"
#include "base/random.h"

namespace orrery::cli {

using elastic::StepOutcome;

namespace {

constexpr std::size_t kBucketElements = 16 << 10;
constexpr double kUnits = 1 << 30;        // per one
constexpr double kLargestSum = 1 << 20;   // of one card; leaves room for thousands of cards
constexpr std::size_t kLossElements = 1;  // after the gradients

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
  state_.resize(2 * state_.size());
  sums_.resize(static_cast<std::size_t>(parameters_) + kLossElements);
  // The unit of the data is a card. A few samples may be left over at the end; every other one is used once per pass.
  const std::uint64_t cards = data_.samples() / options_.card;
  if (cards == 0)
    return Error::invalid(fmt::format("{} samples are fewer than one card of {}", data_.samples(), options_.card));
  const std::uint64_t cards_per_step = options_.batch / options_.card;
  elastic::Training training{cards, options_.seed, {{"batch", static_cast<double>(cards_per_step)}}};
  ORRERY_TRY(elastic::WorkerOptions options, elastic::enlist(variables, training));
  options.commit = [this](const elastic::StepCommitted& step) { commit(step); };
  options.state = [this] { return std::as_writable_bytes(std::span(state_)); };
  ORRERY_TRY(worker_, elastic::Worker::start(std::move(options)));
  progress_ = worker_->progress();
  ORRERY_TRY_VOID(executor_.set_parameters(std::span(state_).first(static_cast<std::size_t>(parameters_))));
  return allocate_buckets();
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
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    ORRERY_TRY(const std::int64_t units, in_units(weight * static_cast<double>(gradients[i])));
    sums_[i] += units;
  }
  ORRERY_TRY(const std::int64_t units, in_units(weight * loss));
  sums_.back() += units;
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
  const double samples = static_cast<double>(cards_.size() * options_.card);
  float* const parameters = state_.data();
  float* const velocities = parameters + parameters_;
  const auto momentum = static_cast<float>(options_.momentum), rate = static_cast<float>(options_.learning_rate);
  for (std::ptrdiff_t i = 0; i < parameters_; ++i) {
    const auto gradient =
        static_cast<float>(static_cast<double>(sums_[static_cast<std::size_t>(i)]) / kUnits / samples);
    velocities[i] = momentum * velocities[i] + gradient;
    parameters[i] -= rate * velocities[i];
  }
  committed_ = executor_.set_parameters(std::span(state_).first(static_cast<std::size_t>(parameters_)));
  progress_ = step.progress;
  if (!committed_ || !after_step_) return;
  committed_ =
      after_step_({step.epoch, step.progress.step, before_.cursor.pass, cards_.begin * options_.card,
                   cards_.end * options_.card, members_, static_cast<double>(sums_.back()) / kUnits / samples});
}

Status Trainer::train(std::uint64_t steps, const AfterStep& after_step) {
  after_step_ = after_step;
  while (!reached(steps)) {
    before_ = worker_->progress();
    cards_ = elastic::next_batch(before_.cursor, elastic::batch_of(worker_->view()));
    members_ = worker_->view().members.size();
    ORRERY_TRY_VOID(add_gradients());
    ORRERY_TRY(const StepOutcome outcome, worker_->finish_step(exchange()));
    ORRERY_TRY_VOID(committed_);
    if (outcome == StepOutcome::kEnded) break;
  }
  return {};
}

}  // namespace orrery::cli
