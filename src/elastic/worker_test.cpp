// Whole jobs of real processes: they train, die, join and leave. The model is an exact sum over samples, so whatever
// happened, it must be the one that a single process gets from the same number of samples.

#include "elastic/worker.h"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/random.h"
#include "elastic/test_crew.h"

namespace orrery::elastic {
namespace {

constexpr std::uint64_t kSamples = 1009;
constexpr std::uint64_t kBatch = 24;
constexpr std::size_t kParameters = 5000;
constexpr unsigned kHangSeconds = 90;
constexpr std::uint64_t kTooManySteps = 100'000'000;

using Model = std::vector<std::int64_t>;

// What one sample adds to the model.
void learn(std::uint64_t sample, std::uint64_t pass, Model& gradient) {
  for (std::size_t i = 0; i < gradient.size(); i += 97) {
    gradient[i] += static_cast<std::int64_t>(mix64(sample * 131 + pass * 7 + i) % 1000);
  }
}

std::uint64_t digest_of(const Model& model) {
  return hash64({reinterpret_cast<const char*>(model.data()), model.size() * sizeof(std::int64_t)});
}

// The replay: one process, the same data.
std::vector<std::uint64_t> replay(std::uint64_t steps) {
  Model model(kParameters);
  std::vector<std::uint64_t> digests = {digest_of(model)};
  DataCursor cursor{.samples = kSamples, .seed = 11};
  for (std::uint64_t step = 0; step < steps; ++step) {
    const DataRange batch = next_batch(cursor, kBatch);
    const Permutation order = order_of(cursor);
    for (std::uint64_t at = batch.begin; at < batch.end; ++at) learn(order.sample(at), cursor.pass, model);
    cursor = advanced(cursor, kBatch);
    digests.push_back(digest_of(model));
  }
  return digests;
}

// What all processes of a test see: how far everyone is, and with which model.
struct Score {
  static constexpr std::size_t kStepsMax = 20'000;
  std::atomic<std::uint64_t> goal{0};                  // whoever has come here stops
  std::atomic<std::uint64_t> steps[kSlotsMax] = {};    // committed, by slot
  std::atomic<std::uint64_t> views[kSlotsMax] = {};    // epoch, by slot
  std::atomic<std::uint64_t> digests[kStepsMax] = {};  // after step; 0: nobody has said
  std::atomic<std::uint64_t> differences{0};
};

class SharedScore {
 public:
  SharedScore() {
    void* const memory = ::mmap(nullptr, sizeof(Score), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    score_ = new (memory) Score;
  }
  ~SharedScore() { ::munmap(score_, sizeof(Score)); }
  SharedScore(const SharedScore&) = delete;
  SharedScore& operator=(const SharedScore&) = delete;
  Score* operator->() const { return score_; }

 private:
  Score* score_;
};

View founders(int members) {
  View view;
  view.epoch = 1;
  view.parameters["batch"] = static_cast<double>(kBatch);
  view.progress.cursor = {.samples = kSamples, .seed = 11};
  for (int i = 0; i < members; ++i)
    view.members.push_back({static_cast<MemberId>(100 + i), 0, static_cast<std::uint32_t>(i)});
  return view;
}

struct Job {
  std::string name;
  std::shared_ptr<Segment> segment;
  SharedScore score;
  View first;

  explicit Job(int members, int slots = 8) : first(founders(members)) {
    static int jobs = 0;
    name = "worker-test-" + std::to_string(::getpid()) + "-" + std::to_string(++jobs);
    SegmentOptions options = tight_segment(slots);
    options.block_bytes = 16 << 10;
    segment = *Segment::create(options);
    score->goal = kTooManySteps;
  }

  ChildRank found(int slot, const Staged::Probe& probe = {}) {
    return ChildRank(*segment, [&](std::shared_ptr<Segment> mapped) {
      return train(std::move(mapped), {static_cast<MemberId>(100 + slot), 0, static_cast<std::uint32_t>(slot)}, first,
                   {}, probe);
    });
  }
  ChildRank join(int slot, MemberId id, std::vector<MemberId> contacts) {
    return ChildRank(*segment, [&](std::shared_ptr<Segment> mapped) {
      return train(std::move(mapped), {id, 0, static_cast<std::uint32_t>(slot)}, std::nullopt, contacts, {});
    });
  }

  // A whole process. Exit code 0: came to the goal; 50: left or expelled.
  int train(std::shared_ptr<Segment> mapped, MemberRecord self, std::optional<View> founders_view,
            std::vector<MemberId> contacts, const Staged::Probe& probe) {
    ::alarm(kHangSeconds);
    Model model(kParameters), aside(kParameters);
    const auto commit = [&](const StepCommitted& step) {
      for (std::size_t i = 0; i < model.size(); ++i) model[i] += aside[i];
      const std::uint64_t digest = digest_of(model);
      std::uint64_t before = 0;
      if (step.progress.step < Score::kStepsMax &&
          !score->digests[step.progress.step].compare_exchange_strong(before, digest) && before != digest) {
        ++score->differences;
      }
      score->steps[self.slot] = step.progress.step;
    };
    auto worker = Worker::start({.job = name,
                                 .segment = std::move(mapped),
                                 .self = self,
                                 .first = std::move(founders_view),
                                 .contacts = std::move(contacts),
                                 .commit = commit,
                                 .state = [&] { return std::as_writable_bytes(std::span(model)); },
                                 .probe = probe});
    if (!worker) return 20;
    while ((*worker)->progress().step < score->goal) {
      score->views[self.slot] = (*worker)->view().epoch;
      std::fill(aside.begin(), aside.end(), 0);
      const DataCursor cursor = (*worker)->progress().cursor;
      const Permutation order = order_of(cursor);
      const DataRange mine = (*worker)->own_samples();
      for (std::uint64_t at = mine.begin; at < mine.end; ++at) learn(order.sample(at), cursor.pass, aside);
      const auto ticket =
          (*worker)->session().all_reduce("g", {aside.data(), aside.size(), DataType::kI64}, ReduceOp::kSum);
      const Status summed = ticket ? (*worker)->session().wait(*ticket) : Status(ticket.error());
      const auto outcome = (*worker)->finish_step(summed);
      if (!outcome) return 21;
      if (*outcome == StepOutcome::kEnded) return 50;
    }
    return 0;
  }

  void wait_for_step(int slot, std::uint64_t step) const {
    for (int i = 0; i < 60'000 && score->steps[slot] < step; ++i) ::usleep(1000);
    ASSERT_GE(score->steps[slot], step);
  }
  std::uint64_t furthest() const {
    std::uint64_t most = 0;
    for (const auto& steps : score->steps) most = std::max(most, steps.load());
    return most;
  }
  // Everyone who lives comes to one more goal, and all models of all steps are those of the replay.
  void expect_the_right_models(std::uint64_t more_steps) {
    score->goal = std::min<std::uint64_t>(furthest() + more_steps, Score::kStepsMax - 1);
  }
  void check_models() const {
    EXPECT_EQ(score->differences, 0u);
    const std::uint64_t steps = std::min<std::uint64_t>(furthest(), Score::kStepsMax - 1);
    const std::vector<std::uint64_t> expected = replay(steps);
    for (std::uint64_t step = 1; step <= steps; ++step)
      ASSERT_EQ(score->digests[step], expected[step]) << "step " << step;
  }
};

TEST(Worker, AloneItTrainsAsTheReplayDoes) {
  Job job(1);
  job.score->goal = 200;
  ChildRank only = job.found(0);
  EXPECT_EQ(only.wait(), 0);
  EXPECT_EQ(job.furthest(), 200u);
  job.check_models();
}

TEST(Worker, SeveralTrainAsOne) {
  Job job(3);
  job.score->goal = 150;
  std::vector<ChildRank> children;
  for (int slot = 0; slot < 3; ++slot) children.push_back(job.found(slot));
  for (ChildRank& child : children) EXPECT_EQ(child.wait(), 0);
  job.check_models();
}

// Killed at every cut point of the operations, at several places of the run; the others lose at most the step at hand.
TEST(Worker, OthersGoOnWhenOneIsKilledAnywhere) {
  for (const CutPoint point :
       {CutPoint::kAnnounced, CutPoint::kStaged, CutPoint::kCombined, CutPoint::kPublished, CutPoint::kTook}) {
    for (int victim = 0; victim < 3; ++victim) {
      Job job(3);
      std::vector<ChildRank> children;
      for (int slot = 0; slot < 3; ++slot) {
        int left = slot == victim ? 12 + victim : -1;
        children.push_back(job.found(slot, [&left, point](CutPoint at) {
          if (at == point && --left == 0) ::raise(SIGKILL);
        }));
      }
      EXPECT_EQ(children[static_cast<std::size_t>(victim)].wait(), -SIGKILL);
      const std::uint64_t at_death = job.furthest();
      job.wait_for_step(victim == 0 ? 1 : 0, at_death + 3);
      job.expect_the_right_models(20);
      for (int slot = 0; slot < 3; ++slot) {
        if (slot == victim) continue;
        EXPECT_EQ(children[static_cast<std::size_t>(slot)].wait(), 0) << slot;
      }
      job.check_models();
    }
  }
}

TEST(Worker, TheLastOneGoesOn) {
  Job job(3);
  std::vector<ChildRank> children;
  for (int slot = 0; slot < 3; ++slot) children.push_back(job.found(slot));
  job.wait_for_step(2, 10);
  children[0].kill(SIGKILL);
  children[1].kill(SIGKILL);
  job.wait_for_step(2, job.furthest() + 20);
  job.expect_the_right_models(10);
  EXPECT_EQ(children[2].wait(), 0);
  job.check_models();
}

TEST(Worker, AJoinerGetsTheModelAndTakesPart) {
  Job job(2);
  std::vector<ChildRank> children;
  for (int slot = 0; slot < 2; ++slot) children.push_back(job.found(slot));
  job.wait_for_step(0, 20);
  children.push_back(job.join(2, 500, {100, 101}));
  job.wait_for_step(2, 30);
  children.push_back(job.join(3, 501, {100}));
  job.wait_for_step(3, 40);
  EXPECT_GE(job.score->views[0], 3u);
  job.expect_the_right_models(20);
  for (ChildRank& child : children) EXPECT_EQ(child.wait(), 0);
  job.check_models();
}

// Kills and joins at random moments, also while a view is changing.
TEST(Worker, AHistoryOfKillsAndJoins) {
  Random random(7);
  for (int round = 0; round < 3; ++round) {
    Job job(3);
    std::map<int, ChildRank> live;
    for (int slot = 0; slot < 3; ++slot) live.emplace(slot, job.found(slot));
    std::vector<MemberId> ids = {100, 101, 102};
    MemberId next_id = 1000;
    job.wait_for_step(0, 3);
    for (int event = 0; event < 12; ++event) {
      ::usleep(static_cast<useconds_t>(random.below(30'000)));
      if (live.size() > 1 && random.below(2) == 0) {
        auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random.below(live.size())));
        // Someone with the model must be left: joiners may not have it yet.
        std::size_t with_model = 0;
        for (const auto& [slot, child] : live) with_model += job.score->steps[slot] > 0 && slot != victim->first;
        if (with_model == 0) continue;
        victim->second.kill(SIGKILL);
        EXPECT_EQ(victim->second.wait(), -SIGKILL);
        job.score->steps[victim->first] = 0;
        live.erase(victim);
      } else if (live.size() < 6) {
        int slot = 0;
        while (live.contains(slot)) ++slot;
        ids.push_back(next_id);
        live.emplace(slot, job.join(slot, next_id++, ids));
      }
    }
    const int anyone = live.begin()->first;
    const std::uint64_t before = job.score->steps[anyone];
    job.wait_for_step(anyone, before + 5);
    for (auto& [slot, child] : live) job.wait_for_step(slot, 1);
    job.expect_the_right_models(20);
    for (auto& [slot, child] : live) EXPECT_EQ(child.wait(), 0) << "slot " << slot << " in round " << round;
    job.check_models();
  }
}

}  // namespace
}  // namespace orrery::elastic
