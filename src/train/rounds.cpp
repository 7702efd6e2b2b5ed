// Rounds of several steps of the optimizer, which workers make without waiting for each other; at the end of a round
// all have one model, and the round commits as a whole.
//
//   local         Each worker has an equal part of the round's micro-batches and a model of its own; in the end the
//                 models are averaged (local SGD, Stich 2019).
//   pair          Workers take micro-batches from one work queue, as many as they can. Near its end a slow worker leaves
//                 them to the others, so that no worker waits for it. After every step a worker averages its model with
//                 that of another one, drawn at random, without waiting for it (pair averaging: AD-PSGD, Lian et al.
//                 2018; KungFu, OSDI'20).
//   server-async  Workers take micro-batches from one work queue too. The parameters are at the servers, a part at
//                 each; a worker pulls them all, computes, and pushes its step, which is added at once (asynchronous
//                 parameter servers, Li et al., OSDI'14). Velocities are its own, and averaged in the end.
//
// In pair and server-async, models and the work queue are in memory that all workers reach, so they have to be on one
// host. The model in the end is the same on all workers. It depends on which workers took part and, in these two, on
// how fast each was.

#include <algorithm>
#include <atomic>

#include "base/random.h"
#include "train/step_rule.h"

namespace orrery::train {

namespace {

// The factor by which a worker must be slower than the others to leave them the rest of a work queue: times vary.
constexpr double kMargin = 1.2;

// Others may read what is written; a value is old or new, never half of each.
float shared_load(float& value) {
  return std::atomic_ref<float>(value).load(std::memory_order_relaxed);
}
void shared_store(float& value, float to) {
  std::atomic_ref<float>(value).store(to, std::memory_order_relaxed);
}

class Rounds : public StepRule {
 public:
  Rounds(const TrainingContext& context, Strategy strategy)
      : context_(context),
        strategy_(strategy),
        parameters_(static_cast<std::size_t>(context.parameters)),
        random_(Random(context.options.seed).split("pairs").split(context.worker->id())) {}

  Status allocate() {
    auto& arena = context_.worker->arena();
    // Parameters, velocities, and the sum of the losses.
    auto own = arena.allocate((2 * parameters_ + 1) * sizeof(float));
    if (!own) return std::move(own).error().with_context("the model does not fit (`orrery run --shm-size`)");
    own_ = std::move(*own);
    ORRERY_TRY(work_queue_, arena.allocate(sizeof(std::uint64_t)));
    if (strategy_ != Strategy::kServerAsync) return {};
    auto served = arena.allocate(parameters_ * sizeof(float));
    if (!served) return std::move(served).error().with_context("parameters do not fit (`orrery run --shm-size`)");
    served_ = std::move(*served);
    return {};
  }

  Status compute(const StepAtHand& step) override {
    for (std::size_t i = 0; i < 2 * parameters_; ++i) shared_store(model()[i], context_.state[i]);
    model()[2 * parameters_] = 0;
    const bool has_work_queue = strategy_ != Strategy::kLocal;
    if (has_work_queue) ORRERY_TRY_VOID(meet());
    const elastic::Permutation order = step.order(context_.options.micro_batch);
    const elastic::Membership& membership = context_.worker->membership();
    workers_ = membership.workers.size();
    // So that all workers together use the batch of a step.
    const std::uint64_t at_a_time =
        std::max<std::uint64_t>(1, context_.options.batch / context_.options.micro_batch / workers_);
    const std::vector<std::uint64_t> shares(workers_, 1);
    const elastic::DataRange mine =
        has_work_queue
            ? step.micro_batches
            : elastic::split_batch(step.micro_batches, shares)[static_cast<std::size_t>(context_.worker->rank())];
    const Seconds start = context_.clock.monotonic();
    std::uint64_t micro_batches = 0;
    for (std::uint64_t next = mine.begin;;) {
      if (has_work_queue && is_too_slow_for(step.micro_batches.size(), at_a_time)) break;
      const std::uint64_t begin = has_work_queue ? step.micro_batches.begin + work_queue().fetch_add(at_a_time) : next;
      if (begin >= mine.end) break;
      next = std::min(begin + at_a_time, mine.end);
      if (strategy_ == Strategy::kServerAsync) pull();
      ORRERY_TRY_VOID(learn({begin, next}, order, step.rate_scale));
      micro_batches += next - begin;
      if (strategy_ == Strategy::kServerAsync) push(step.rate_scale);
      if (strategy_ == Strategy::kPair) move_to_the_middle();
    }
    ORRERY_TRY_VOID(telemetry_.send(context_, step, context_.clock.monotonic() - start, micro_batches));
    ORRERY_TRY_VOID(put_back());
    auto& session = context_.worker->session();
    ORRERY_TRY(const elastic::Ticket ticket,
               session.all_reduce("models", {own_.data(), 2 * parameters_ + 1, elastic::DataType::kF32},
                                  elastic::ReduceOp::kSum));
    ORRERY_TRY_VOID(session.wait(ticket));
    // All workers are here, so everything was pushed.
    if (strategy_ == Strategy::kServerAsync) pull();
    return telemetry_.receive(context_);
  }

  StepMetrics commit(const StepAtHand& step) override {
    const auto weight = 1 / static_cast<float>(workers_);
    const std::size_t summed_from = strategy_ == Strategy::kServerAsync ? parameters_ : 0;
    for (std::size_t i = 0; i < 2 * parameters_; ++i) {
      context_.state[i] = i < summed_from ? model()[i] : weight * model()[i];
    }
    return {.loss = static_cast<double>(model()[2 * parameters_]) / static_cast<double>(step.micro_batches.size()),
            .telemetry = {telemetry_.by_rank().begin(), telemetry_.by_rank().end()}};
  }

 private:
  float* model() { return reinterpret_cast<float*>(own_.data()); }
  std::atomic_ref<std::uint64_t> work_queue() {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(shared_work_queue_));
  }

  // Where the models of the others are, or of the servers, and the work queue of the first one. All begin together.
  Status meet() {
    auto& worker = *context_.worker;
    if (worker.rank() == 0) *reinterpret_cast<std::uint64_t*>(work_queue_.data()) = 0;
    const bool has_servers = strategy_ == Strategy::kServerAsync;
    if (has_servers) serve_parameters();
    const elastic::ArenaBuffer& shown = has_servers ? served_ : own_;
    const std::uint64_t own[2] = {worker.arena().place_of(shown), worker.arena().place_of(work_queue_)};
    const auto ranks = worker.membership().workers.size();
    std::vector<std::uint64_t> all(2 * ranks);
    ORRERY_TRY(const elastic::Ticket ticket,
               worker.session().all_gather("places", {own, 2, elastic::DataType::kI64},
                                           {all.data(), all.size(), elastic::DataType::kI64}));
    ORRERY_TRY_VOID(worker.session().wait(ticket));
    peers_.clear();
    const std::size_t servers = std::min<std::size_t>(context_.options.servers, ranks);
    for (std::size_t rank = 0; rank < (has_servers ? servers : ranks); ++rank) {
      if (!has_servers && static_cast<int>(rank) == worker.rank()) continue;
      ORRERY_TRY(std::byte* const place, worker.arena().at(all[2 * rank], shown.size()));
      peers_.push_back(reinterpret_cast<float*>(place));
    }
    ORRERY_TRY(shared_work_queue_, worker.arena().at(all[1], sizeof(std::uint64_t)));
    return {};
  }

  void serve_parameters() {
    float* const served = reinterpret_cast<float*>(served_.data());
    for (std::size_t i = 0; i < parameters_; ++i) shared_store(served[i], context_.state[i]);
  }

  // `use` gets every parameter's index and where its server has it.
  template <typename Use>
  void at_servers(const Use& use) {
    for (std::size_t server = 0; server < peers_.size(); ++server) {
      const std::size_t end = (server + 1) * parameters_ / peers_.size();
      for (std::size_t i = server * parameters_ / peers_.size(); i < end; ++i) use(i, peers_[server][i]);
    }
  }

  void pull() {
    at_servers([&](std::size_t i, float& served) { model()[i] = shared_load(served); });
  }

  // The step that was learned last.
  void push(double rate_scale) {
    const auto rate = static_cast<float>(rate_scale * context_.options.learning_rate);
    const float* const velocities = model() + parameters_;
    at_servers([&](std::size_t i, float& served) {
      std::atomic_ref<float>(served).fetch_add(-rate * velocities[i], std::memory_order_relaxed);
    });
  }

  // Whether the others finish the work queue of `micro_batches` before this worker would finish what it takes next. By
  // the times of the round before; the fastest worker is never too slow, so no micro-batch is left.
  bool is_too_slow_for(std::uint64_t micro_batches, std::uint64_t at_a_time) {
    const std::span<const Telemetry> ranks = telemetry_.by_rank();
    const std::uint64_t taken = work_queue().load();
    if (ranks.size() != workers_ || taken >= micro_batches) return false;
    const double own_s = ranks[static_cast<std::size_t>(context_.worker->rank())].micro_batch_s;
    double fastest_s = own_s, micro_batches_per_s = 0;
    for (const Telemetry& telemetry : ranks) {
      // A worker without a micro-batch gives no information about speeds.
      if (telemetry.micro_batch_s <= 0) return false;
      fastest_s = std::min(fastest_s, telemetry.micro_batch_s);
      micro_batches_per_s += 1 / telemetry.micro_batch_s;
    }
    const double others_s =
        static_cast<double>(micro_batches - taken) / micro_batches_per_s + static_cast<double>(at_a_time) * fastest_s;
    return static_cast<double>(at_a_time) * own_s > kMargin * others_s;
  }

  // One step of the optimizer, of this worker alone.
  Status learn(const elastic::DataRange& micro_batches, const elastic::Permutation& order, double rate_scale) {
    ORRERY_TRY_VOID(context_.executor.set_parameters({model(), parameters_}));
    sum_.assign(parameters_, 0);
    for (std::uint64_t micro_batch = micro_batches.begin; micro_batch < micro_batches.end; ++micro_batch) {
      ORRERY_TRY(const double loss, context_.compute_micro_batch(micro_batch, order, gradient_));
      for (std::size_t i = 0; i < parameters_; ++i) sum_[i] += gradient_[i];
      model()[2 * parameters_] += static_cast<float>(loss);
    }
    const float weight = 1 / static_cast<float>(micro_batches.size());
    const auto momentum = static_cast<float>(context_.options.momentum);
    const auto rate = static_cast<float>(rate_scale * context_.options.learning_rate);
    float* const velocities = model() + parameters_;
    for (std::size_t i = 0; i < parameters_; ++i) {
      velocities[i] = momentum * velocities[i] + weight * sum_[i];
      shared_store(model()[i], model()[i] - rate * velocities[i]);
    }
    return {};
  }

  void move_to_the_middle() {
    if (peers_.empty()) return;
    float* const peer = peers_[random_.below(peers_.size())];
    for (std::size_t i = 0; i < parameters_; ++i) {
      shared_store(model()[i], 0.5F * (model()[i] + shared_load(peer[i])));
    }
  }

  // What was learned is in own_; the executor's parameters are those of the last committed step again.
  Status put_back() { return context_.executor.set_parameters(std::span(context_.state).first(parameters_)); }

  TrainingContext context_;
  Strategy strategy_;
  std::size_t parameters_;
  Random random_;
  std::size_t workers_ = 1;
  elastic::ArenaBuffer own_, work_queue_, served_;
  std::vector<float*> peers_;  // in pair: models of the others; in server-async: what the servers have
  std::byte* shared_work_queue_ = nullptr;
  std::vector<float> gradient_, sum_;
  TelemetryExchange telemetry_;
};

}  // namespace

Result<std::unique_ptr<StepRule>> make_rounds(const TrainingContext& context, Strategy strategy) {
  auto rule = std::make_unique<Rounds>(context, strategy);
  ORRERY_TRY_VOID(rule->allocate());
  return std::unique_ptr<StepRule>(std::move(rule));
}

}  // namespace orrery::train
