// Whole jobs of real processes on one host: they train, die, join and leave.

#include "elastic/worker.h"

#include "elastic/test_training.h"

namespace orrery::elastic {
namespace {

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

// Killed at every cut point of the operations, at several places of the run; the others lose at most the current step.
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

TEST(Worker, AJoiningWorkerGetsTheModelAndTakesPart) {
  Job job(2);
  expect_joining_workers_take_part(job);
}

// Kills and joins at random moments, also while a membership is changing.
TEST(Worker, AHistoryOfKillsAndJoins) {
  Random random(7);
  for (int round = 0; round < 3; ++round) {
    Job job(3);
    std::map<int, ChildRank> live;
    for (int slot = 0; slot < 3; ++slot) live.emplace(slot, job.found(slot));
    std::map<int, WorkerId> ids = {{0, 100}, {1, 101}, {2, 102}};
    WorkerId next_id = 1000;
    job.wait_for_step(0, 3);
    for (int event = 0; event < 12; ++event) {
      ::usleep(static_cast<useconds_t>(random.below(30'000)));
      if (live.size() > 1 && random.below(2) == 0) {
        auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random.below(live.size())));
        // A worker with the model must be left: joining workers may not have it yet.
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
        live.emplace(slot, job.join(slot, next_id, ids));
        ids[slot] = next_id++;
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
