#pragma once
// For tests: whole jobs of real processes, on one or several hosts (all of them this machine). The model is an exact
// sum over samples, so in every case it must be the one that a single process gets from the same number of samples. Now
// and then all workers decide on another batch, which holds from the step after the next on, even if the leading
// workers die meanwhile.

#include <csignal>
#include <gtest/gtest.h>

#include "base/random.h"
#include "elastic/net/socket.h"
#include "elastic/test_crew.h"
#include "elastic/worker.h"

namespace orrery::elastic {

inline constexpr std::uint64_t kSamples = 1009;
inline constexpr std::uint64_t kBatch = 24;
inline constexpr std::uint64_t kDecideEvery = 25;  // steps
inline constexpr std::size_t kParameters = 5000;
inline constexpr unsigned kHangSeconds = 300;
inline constexpr std::uint64_t kTooManySteps = 100'000'000;

using Model = std::vector<std::int64_t>;

// What one sample adds to the model.
inline void learn(std::uint64_t sample, std::uint64_t epoch, Model& gradient) {
  for (std::size_t i = 0; i < gradient.size(); i += 97) {
    gradient[i] += static_cast<std::int64_t>(mix64(sample * 131 + epoch * 7 + i) % 1000);
  }
}

inline std::uint64_t digest_of(const Model& model) {
  return hash64({reinterpret_cast<const char*>(model.data()), model.size() * sizeof(std::int64_t)});
}

inline std::uint64_t batch_decided_after(std::uint64_t step) {
  return step / kDecideEvery % 2 == 0 ? kBatch : kBatch + 12;
}

// The value of the step after `done` steps.
inline std::uint64_t batch_after(std::uint64_t done) {
  return done == 0 ? kBatch : batch_decided_after(done - 1);
}

// One lane: parameters. Two: parameters, then momenta.
struct Shape {
  std::size_t parameters = kParameters;
  std::size_t lanes = 1;
};

// A step of the optimizer, element by element.
inline void update(Model& model, const Model& gradient, const Shape& shape) {
  for (std::size_t i = 0; i < shape.parameters; ++i) {
    std::int64_t by = gradient[i];
    if (shape.lanes == 2) by = model[shape.parameters + i] = model[shape.parameters + i] / 2 + gradient[i];
    model[i] += by;
  }
}

// The replay: one process, the same data.
inline std::vector<std::uint64_t> replay(std::uint64_t steps, const Shape& shape = {}) {
  Model model(shape.parameters * shape.lanes), gradient(shape.parameters);
  std::vector<std::uint64_t> digests = {digest_of(model)};
  DataCursor cursor{.samples = kSamples, .seed = 11};
  for (std::uint64_t step = 0; step < steps; ++step) {
    const DataRange batch = next_batch(cursor, batch_after(step));
    const Permutation order = order_of(cursor);
    std::fill(gradient.begin(), gradient.end(), 0);
    for (std::uint64_t at = batch.begin; at < batch.end; ++at) learn(order.sample(at), cursor.epoch, gradient);
    update(model, gradient, shape);
    cursor = advanced(cursor, batch_after(step));
    digests.push_back(digest_of(model));
  }
  return digests;
}

// What all processes of a test see: the progress and the model of each.
struct Score {
  static constexpr std::size_t kStepsMax = 20'000;
  std::atomic<std::uint64_t> goal{0};                      // a worker that has reached this step stops
  std::atomic<std::uint64_t> steps[kSlotsMax] = {};        // committed with the model, by slot
  std::atomic<std::uint64_t> learner_steps{0};             // committed without it, by any worker
  std::atomic<std::uint64_t> memberships[kSlotsMax] = {};  // generation, by slot
  std::atomic<std::uint64_t> digests[kStepsMax] = {};      // after step; 0: not yet known
  std::atomic<std::uint64_t> differences{0};
};

// Worker i has the id 100 + i and slot i, on host i mod `hosts`. With several hosts, workers have addresses.
struct Job {
  std::string name;
  int hosts;
  std::vector<std::shared_ptr<Segment>> segments;           // by host
  std::vector<std::unique_ptr<env::Reservation>> reserved;  // ports, by slot
  Shared<Score> score;
  Membership first;
  Seconds partition_timeout{30};
  Shape shape;
  bool learners = false;        // joining workers get the model between steps
  bool keeps_promise = true;    // that steps are element by element
  int victim = -1;              // slot: dies after this many steps as a learner
  std::uint64_t victim_at = 0;  // learner steps

  explicit Job(int workers, int slots = 8, int hosts_of_job = 1) : hosts(hosts_of_job) {
    static int jobs = 0;
    name = "worker-test-" + std::to_string(::getpid()) + "-" + std::to_string(++jobs);
    SegmentOptions options = tight_segment(slots);
    options.block_bytes = 16 << 10;
    for (int host = 0; host < hosts; ++host) segments.push_back(*Segment::create(options));
    for (int slot = 0; hosts > 1 && slot < slots; ++slot)
      reserved.push_back(*env::make_real_env().sockets.reserve({"127.0.0.1", 0}));
    score->goal = kTooManySteps;
    first.generation = 1;
    first.parameters["batch"] = static_cast<double>(kBatch);
    first.progress.cursor = {.samples = kSamples, .seed = 11};
    for (int i = 0; i < workers; ++i) first.workers.push_back(record(i, static_cast<WorkerId>(100 + i)));
  }

  WorkerRecord record(int slot, WorkerId id) const {
    WorkerRecord worker{id, static_cast<std::uint32_t>(slot % hosts), static_cast<std::uint32_t>(slot)};
    if (hosts > 1) {
      worker.address = env::to_string(reserved[static_cast<std::size_t>(slot)]->address());
    }
    return worker;
  }
  ChildRank start(const WorkerRecord& self, const std::optional<Membership>& membership,
                  const std::vector<WorkerRecord>& contacts, const Staged::Probe& probe) {
    return ChildRank(*segments[self.host], [&](std::shared_ptr<Segment> mapped) {
      return train(std::move(mapped), self, membership, contacts, probe);
    });
  }
  ChildRank found(int slot, const Staged::Probe& probe = {}) {
    return start(record(slot, static_cast<WorkerId>(100 + slot)), first, {}, probe);
  }
  // `contacts` in their slots.
  ChildRank join(int slot, WorkerId id, const std::map<int, WorkerId>& contacts) {
    std::vector<WorkerRecord> records;
    for (const auto& [where, whom] : contacts) records.push_back(record(where, whom));
    return start(record(slot, id), std::nullopt, records, {});
  }

  // A whole process. Exit code 0: reached the goal; 50: left; 51: expelled, or ended by the partition timeout.
  int train(std::shared_ptr<Segment> mapped, const WorkerRecord& self,
            const std::optional<Membership>& initial_membership, const std::vector<WorkerRecord>& contacts,
            const Staged::Probe& probe) {
    ::alarm(kHangSeconds);
    std::vector<WorkerId> ids;
    for (const WorkerRecord& contact : contacts) ids.push_back(contact.id);
    Model model(shape.parameters * shape.lanes), aside(shape.parameters);
    Worker* running = nullptr;
    const auto commit = [&](const StepCommitted& step) {
      update(model, aside, shape);
      if (!keeps_promise) model[0] += model[(shape.parameters - 1) / 97 * 97];  // one that samples change
      const bool is_learner = running == nullptr ? !initial_membership : running->is_learner();
      if (is_learner) ++score->learner_steps;
      if (victim == static_cast<int>(self.slot) && score->learner_steps >= victim_at) ::raise(SIGKILL);
      if (is_learner) return;
      const std::uint64_t digest = digest_of(model);
      std::uint64_t before = 0;
      if (step.progress.step < Score::kStepsMax &&
          !score->digests[step.progress.step].compare_exchange_strong(before, digest) && before != digest) {
        ++score->differences;
      }
      score->steps[self.slot] = step.progress.step;
    };
    auto worker =
        Worker::start(env::make_real_env(), {.job = name + "-" + std::to_string(self.host),
                                             .segment = std::move(mapped),
                                             .self = self,
                                             .first = initial_membership,
                                             .contacts = std::move(ids),
                                             .records = contacts,
                                             .credentials = {.secret = name},
                                             .partition_timeout = partition_timeout,
                                             .commit = commit,
                                             .state = [&] { return std::as_writable_bytes(std::span(model)); },
                                             .lanes = learners ? shape.lanes : 0,
                                             .probe = probe});
    if (!worker) return 20;
    running = worker->get();
    while ((*worker)->progress().step < score->goal) {
      score->memberships[self.slot] = (*worker)->membership().generation;
      std::fill(aside.begin(), aside.end(), 0);
      const std::uint64_t done = (*worker)->progress().step;
      if (done % kDecideEvery == 0) {
        (*worker)->set_parameter("batch", static_cast<double>(batch_decided_after(done)));
      }
      const DataCursor cursor = (*worker)->progress().cursor;
      const Permutation order = order_of(cursor);
      const DataRange mine = (*worker)->own_samples();
      for (std::uint64_t at = mine.begin; at < mine.end; ++at) learn(order.sample(at), cursor.epoch, aside);
      const auto ticket =
          (*worker)->session().all_reduce("g", {aside.data(), aside.size(), DataType::kI64}, ReduceOp::kSum);
      const Status summed = ticket ? (*worker)->session().wait(*ticket) : Status(ticket.error());
      const auto outcome = (*worker)->finish_step(summed);
      if (!outcome && outcome.error().code() == ErrorCode::kUnavailable) return 51;
      if (!outcome) {
        std::fprintf(stderr, "worker %d: %s\n", static_cast<int>(self.id), outcome.error().to_string().c_str());
        return 21;
      }
      if (*outcome == StepOutcome::kEnded) return 50;
    }
    return 0;
  }

  void wait_for_step(int slot, std::uint64_t step) const {
    wait_until([&] { return score->steps[slot] >= step; });
    ASSERT_GE(score->steps[slot], step);
  }
  std::uint64_t furthest() const {
    std::uint64_t most = 0;
    for (const auto& steps : score->steps) most = std::max(most, steps.load());
    return most;
  }
  // All live workers reach one more goal, and all models of all steps are those of the replay.
  void expect_the_right_models(std::uint64_t more_steps) {
    score->goal = std::min<std::uint64_t>(furthest() + more_steps, Score::kStepsMax - 1);
  }
  void check_models() const {
    EXPECT_EQ(score->differences, 0u);
    const std::uint64_t steps = std::min<std::uint64_t>(furthest(), Score::kStepsMax - 1);
    const std::vector<std::uint64_t> expected = replay(steps, shape);
    for (std::uint64_t step = 1; step <= steps; ++step)
      ASSERT_EQ(score->digests[step], expected[step]) << "step " << step;
  }
};

// In a job of two initial workers, two more join one after the other, get the model and compute.
inline void expect_joining_workers_take_part(Job& job) {
  std::vector<ChildRank> children;
  for (int slot = 0; slot < 2; ++slot) children.push_back(job.found(slot));
  job.wait_for_step(0, 20);
  children.push_back(job.join(2, 500, {{0, 100}, {1, 101}}));
  job.wait_for_step(2, 30);
  children.push_back(job.join(3, 501, {{0, 100}}));
  job.wait_for_step(3, 40);
  EXPECT_GE(job.score->memberships[0], 3u);
  job.expect_the_right_models(20);
  for (ChildRank& child : children) EXPECT_EQ(child.wait(), 0);
  job.check_models();
}

}  // namespace orrery::elastic
