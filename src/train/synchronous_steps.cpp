// Synchronous SGD: one step of the optimizer with the gradient of all samples.
//
//   - Ranks share the micro-batches of the step; each micro-batch's gradient is computed alone, by the same
//     instructions wherever that is.
//   - Gradients are summed as whole numbers in units of 2^-30, exactly, so their order does not matter.
//   - They are divided by the samples of the step and take effect by SGD with momentum.
// So the model after a step does not depend on which workers took part: it is that of one process, to the last bit.
//
// Sums are made by all workers together (synchronous), or by the servers among them, each for an equal part of the
// buckets (server). A server hands out sums, not parameters: every worker makes the step of the optimizer, so a server
// that dies has nothing that others do not have.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>

#include "train/step_rule.h"

namespace orrery::train {

namespace {

constexpr std::size_t kBucketElements = 16 << 10;
constexpr double kUnits = 1 << 30;       // per one
constexpr double kLargestSum = 1 << 20;  // of one micro-batch; leaves range for thousands of micro-batches
// After the gradients: the loss, and the sum of the square norms of the micro-batches' gradients.
constexpr std::size_t kMetrics = 2;

Result<std::int64_t> in_units(double value) {
  // Also false for what is no number.
  if (!(std::abs(value) < kLargestSum)) {
    return Error::invalid("the training diverges: a gradient or loss is too large; try a smaller --learning-rate");
  }
  return std::llrint(value * kUnits);
}

class SynchronousSteps : public StepRule {
 public:
  SynchronousSteps(const TrainingContext& context, Strategy strategy)
      : context_(context),
        has_servers_(strategy == Strategy::kServer),
        sums_(static_cast<std::size_t>(context.parameters) + kMetrics) {}

  Status allocate() {
    for (std::size_t at = 0; at < sums_.size(); at += kBucketElements) {
      const std::size_t elements = std::min(kBucketElements, sums_.size() - at);
      auto bucket = context_.worker->arena().allocate(elements * sizeof(std::int64_t));
      if (!bucket) return std::move(bucket).error().with_context("gradients do not fit (`orrery run --shm-size`)");
      buckets_.push_back(std::move(*bucket));
    }
    return {};
  }

  Status compute(const StepAtHand& step) override {
    std::fill(sums_.begin(), sums_.end(), 0);
    const elastic::Permutation order = step.order(context_.options.micro_batch);
    const elastic::DataRange mine = context_.worker->own_samples(step.weights);
    const Seconds start = context_.clock.monotonic();
    for (std::uint64_t micro_batch = mine.begin; micro_batch < mine.end; ++micro_batch)
      ORRERY_TRY_VOID(add_micro_batch(micro_batch, order));
    const Seconds computed = context_.clock.monotonic();
    ORRERY_TRY_VOID(telemetry_.send(context_, step, computed - start, mine.size(), last_));
    ORRERY_TRY_VOID(exchange());
    ORRERY_TRY_VOID(telemetry_.receive(context_));
    last_ = {(computed - start).value(), (context_.clock.monotonic() - computed).value()};
    return {};
  }

  StepMetrics commit(const StepAtHand& step) override {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      std::memcpy(sums_.data() + i * kBucketElements, buckets_[i].data(), buckets_[i].size());
    }
    const auto micro_batches = static_cast<double>(step.micro_batches.size());
    const double samples = micro_batches * static_cast<double>(context_.options.micro_batch);
    float* const parameters = context_.state.data();
    float* const velocities = parameters + context_.parameters;
    const auto momentum = static_cast<float>(context_.options.momentum);
    const auto rate = static_cast<float>(step.rate_scale * context_.options.learning_rate);
    double mean_square = 0;
    for (std::ptrdiff_t i = 0; i < context_.parameters; ++i) {
      const auto gradient =
          static_cast<float>(static_cast<double>(sums_[static_cast<std::size_t>(i)]) / kUnits / samples);
      mean_square += static_cast<double>(gradient) * static_cast<double>(gradient);
      velocities[i] = momentum * velocities[i] + gradient;
      parameters[i] -= rate * velocities[i];
    }
    const auto metrics = std::span(sums_).last(kMetrics);
    return {.loss = static_cast<double>(metrics[0]) / kUnits / samples,
            .noise = elastic::NoiseSample{.local_square = static_cast<double>(metrics[1]) / kUnits / micro_batches,
                                          .inverse_batch = 1 / static_cast<double>(context_.options.micro_batch),
                                          .mean_square = mean_square,
                                          .batch = samples},
            .telemetry = {telemetry_.by_rank().begin(), telemetry_.by_rank().end()}};
  }

 private:
  Status add_micro_batch(std::uint64_t micro_batch, const elastic::Permutation& order) {
    ORRERY_TRY(const double loss, context_.compute_micro_batch(micro_batch, order, gradient_));
    const auto weight = static_cast<double>(context_.options.micro_batch);
    double square = 0;
    for (std::size_t i = 0; i < gradient_.size(); ++i) {
      const auto gradient = static_cast<double>(gradient_[i]);
      ORRERY_TRY(const std::int64_t units, in_units(weight * gradient));
      sums_[i] += units;
      square += gradient * gradient;
    }
    const auto metrics = std::span(sums_).last(kMetrics);
    ORRERY_TRY(const std::int64_t loss_units, in_units(weight * loss));
    ORRERY_TRY(const std::int64_t square_units, in_units(square));
    metrics[0] += loss_units;
    metrics[1] += square_units;
    return {};
  }

  Status exchange() {
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
      std::memcpy(buckets_[i].data(), sums_.data() + i * kBucketElements, buckets_[i].size());
    }
    auto& session = context_.worker->session();
    constexpr auto kSum = elastic::ReduceOp::kSum;
    if (!has_servers_) {
      return for_all_buckets([&](std::size_t i, const elastic::TensorView& bucket) {
        return session.all_reduce(fmt::format("gradients {}", i), bucket, kSum);
      });
    }
    const auto servers = std::min<std::size_t>(context_.options.servers, context_.worker->membership().workers.size());
    ORRERY_TRY_VOID(for_all_buckets([&](std::size_t i, const elastic::TensorView& bucket) {
      return session.reduce(fmt::format("push {}", i), bucket, kSum, static_cast<int>(i % servers));
    }));
    return for_all_buckets([&](std::size_t i, const elastic::TensorView& bucket) {
      return session.broadcast(fmt::format("pull {}", i), bucket, static_cast<int>(i % servers));
    });
  }

  // Starts an operation on each of them, then waits for all.
  template <typename Start>
  Status for_all_buckets(const Start& start) {
    std::vector<elastic::Ticket> tickets;
    Status status;
    auto& session = context_.worker->session();
    for (std::size_t i = 0; i < buckets_.size() && status; ++i) {
      const auto ticket = start(i, elastic::TensorView{buckets_[i].data(), buckets_[i].size() / sizeof(std::int64_t),
                                                       elastic::DataType::kI64});
      if (ticket) {
        tickets.push_back(*ticket);
      } else {
        status = ticket.error();
      }
    }
    for (const elastic::Ticket& ticket : tickets) {
      const Status ended = session.wait(ticket);
      if (status) status = ended;
    }
    return status;
  }

  TrainingContext context_;
  bool has_servers_;
  std::vector<float> gradient_;
  TelemetryExchange telemetry_;
  elastic::RankTime last_{};
  std::vector<std::int64_t> sums_;             // gradients and metrics of this step, summed over own micro-batches
  std::vector<elastic::ArenaBuffer> buckets_;  // the same, summed over all ranks
};

}  // namespace

Result<std::unique_ptr<StepRule>> make_synchronous_steps(const TrainingContext& context, Strategy strategy) {
  auto rule = std::make_unique<SynchronousSteps>(context, strategy);
  ORRERY_TRY_VOID(rule->allocate());
  return std::unique_ptr<StepRule>(std::move(rule));
}

}  // namespace orrery::train
