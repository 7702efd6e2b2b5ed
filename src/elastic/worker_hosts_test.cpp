// Whole jobs of real processes whose workers are on hosts of their own: they train, die, join and leave.

#include "elastic/test_training.h"

namespace orrery::elastic {
namespace {

TEST(WorkerHosts, SeveralHostsTrainAsOneProcess) {
  for (const int hosts : {2, 3}) {
    Job job(4, 8, hosts);
    job.score->goal = 100;
    std::vector<ChildRank> children;
    for (int slot = 0; slot < 4; ++slot) children.push_back(job.found(slot));
    for (ChildRank& child : children) EXPECT_EQ(child.wait(), 0);
    EXPECT_EQ(job.furthest(), 100u);
    job.check_models();
  }
}

TEST(WorkerHosts, TheMajorityGoesOnWhenOneIsKilled) {
  for (int victim = 0; victim < 3; ++victim) {
    Job job(3, 8, 3);
    std::vector<ChildRank> children;
    for (int slot = 0; slot < 3; ++slot) children.push_back(job.found(slot));
    job.wait_for_step(victim, 10 + static_cast<std::uint64_t>(victim));
    children[static_cast<std::size_t>(victim)].kill(SIGKILL);
    EXPECT_EQ(children[static_cast<std::size_t>(victim)].wait(), -SIGKILL);
    job.wait_for_step((victim + 1) % 3, job.furthest() + 5);
    job.expect_the_right_models(20);
    for (int slot = 0; slot < 3; ++slot) {
      if (slot == victim) continue;
      EXPECT_EQ(children[static_cast<std::size_t>(slot)].wait(), 0) << slot;
    }
    job.check_models();
  }
}

// Workers that are left on one host know for certain which are dead, and need no majority any more.
TEST(WorkerHosts, SurvivorsOnOneHostContinue) {
  Job job(3, 8, 2);  // workers 0 and 2 on host 0
  std::vector<ChildRank> children;
  for (int slot = 0; slot < 3; ++slot) children.push_back(job.found(slot));
  job.wait_for_step(0, 10);
  children[1].kill(SIGKILL);
  job.wait_for_step(0, job.furthest() + 10);
  children[0].kill(SIGKILL);
  job.wait_for_step(2, job.furthest() + 10);
  job.expect_the_right_models(10);
  EXPECT_EQ(children[2].wait(), 0);
  job.check_models();
}

TEST(WorkerHosts, AMinorityCommitsNothingAndGivesUp) {
  Job job(3, 8, 3);
  job.partition_timeout = Seconds(3);  // a busy machine may keep a worker waiting for a while
  std::vector<ChildRank> children;
  for (int slot = 0; slot < 3; ++slot) children.push_back(job.found(slot));
  job.wait_for_step(2, 10);
  children[0].kill(SIGKILL);
  children[1].kill(SIGKILL);
  EXPECT_EQ(children[2].wait(), 51);
  job.check_models();
}

TEST(WorkerHosts, JoiningWorkersOnOtherHostsGetTheModel) {
  Job job(2, 8, 4);
  expect_joining_workers_take_part(job);
}

// Kills and joins at random moments, also while a membership is changing; a majority lives at any time.
TEST(WorkerHosts, AHistoryOfKillsAndJoins) {
  Random random(17);
  for (int round = 0; round < 3; ++round) {
    Job job(3, 8, 8);
    std::map<int, ChildRank> live;
    for (int slot = 0; slot < 3; ++slot) live.emplace(slot, job.found(slot));
    std::map<int, WorkerId> ids = {{0, 100}, {1, 101}, {2, 102}};
    WorkerId next_id = 1000;
    job.wait_for_step(0, 3);
    for (int event = 0; event < 8; ++event) {
      ::usleep(static_cast<useconds_t>(random.below(30'000)));
      if (live.size() > 3) {
        auto victim = std::next(live.begin(), static_cast<std::ptrdiff_t>(random.below(live.size())));
        victim->second.kill(SIGKILL);
        EXPECT_EQ(victim->second.wait(), -SIGKILL);
        job.score->steps[victim->first] = 0;
        ids.erase(victim->first);
        live.erase(victim);
      } else {
        int slot = 0;
        while (live.contains(slot)) ++slot;
        live.emplace(slot, job.join(slot, next_id, ids));
        ids[slot] = next_id++;
      }
      // All workers have joined before the next event, so that a majority survives each kill.
      const std::uint64_t goal = job.furthest() + 2;
      for (const auto& [slot, child] : live) job.wait_for_step(slot, goal);
    }
    job.expect_the_right_models(20);
    for (auto& [slot, child] : live) EXPECT_EQ(child.wait(), 0) << "slot " << slot << " in round " << round;
    job.check_models();
  }
}

}  // namespace
}  // namespace orrery::elastic
