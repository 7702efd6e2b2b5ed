// Workers that get the model while the others continue: on one host and on several, with kills of both sides.

#include "elastic/test_training.h"

namespace orrery::elastic {
namespace {

// Large enough for several pieces.
constexpr Shape kLarge{.parameters = 200'000, .lanes = 2};

struct LearnerJob : Job {
  LearnerJob(int workers, int hosts_max) : Job(workers, 8, std::min(hosts_max, workers + 1)) {
    shape = kLarge;
    learners = true;
  }
};

struct Learners : testing::TestWithParam<int> {  // hosts
  static std::map<int, ChildRank> found(Job& job, int workers) {
    std::map<int, ChildRank> live;
    for (int slot = 0; slot < workers; ++slot) live.emplace(slot, job.found(slot));
    for (int slot = 0; slot < workers; ++slot) job.wait_for_step(slot, 5);
    return live;
  }
  static void end_well(Job& job, std::map<int, ChildRank>& live) {
    job.expect_the_right_models(10);
    for (auto& [slot, child] : live) EXPECT_EQ(child.wait(), 0) << "slot " << slot;
    job.check_models();
  }
};

TEST_P(Learners, OthersStepOnWhileOneGetsTheModel) {
  LearnerJob job(2, GetParam());
  auto live = found(job, 2);
  live.emplace(2, job.join(2, 500, {{0, 100}, {1, 101}}));
  job.wait_for_step(2, 5);
  EXPECT_GT(job.score->learner_steps, 4u);
  end_well(job, live);
}

TEST_P(Learners, ALearnerThatIsKilledIsNotMissed) {
  for (const std::uint64_t at : {1, 3, 5}) {
    LearnerJob job(2, GetParam());
    job.victim = 2;
    job.victim_at = at;
    auto live = found(job, 2);
    ChildRank learner = job.join(2, 500, {{0, 100}, {1, 101}});
    EXPECT_EQ(learner.wait(), -SIGKILL);
    job.wait_for_step(0, job.furthest() + 5);
    end_well(job, live);
  }
}

TEST_P(Learners, ASourceThatIsKilledIsReplacedByAnother) {
  for (int victim = 0; victim < 3; ++victim) {
    for (const std::uint64_t at : {1, 4}) {
      LearnerJob job(3, GetParam());
      job.victim = victim;
      job.victim_at = at;
      auto live = found(job, 3);
      live.emplace(3, job.join(3, 500, {{0, 100}, {1, 101}, {2, 102}}));
      EXPECT_EQ(live.at(victim).wait(), -SIGKILL);
      live.erase(victim);
      job.wait_for_step(3, 5);
      end_well(job, live);
    }
  }
}

// A later learner begins at the beginning, and the earlier one begins again with it.
TEST_P(Learners, SeveralAtATime) {
  LearnerJob job(2, GetParam());
  auto live = found(job, 2);
  live.emplace(2, job.join(2, 500, {{0, 100}, {1, 101}}));
  live.emplace(3, job.join(3, 501, {{0, 100}, {1, 101}}));
  ::usleep(10'000);
  live.emplace(4, job.join(4, 502, {{0, 100}, {1, 101}}));
  for (const int slot : {2, 3, 4}) job.wait_for_step(slot, 5);
  end_well(job, live);
}

TEST_P(Learners, WithoutAWorkerThatHasTheModelItEnds) {
  LearnerJob job(1, GetParam());
  job.partition_timeout = Seconds(3);  // a busy machine may keep a worker waiting for a while
  job.victim = 0;
  job.victim_at = 2;
  auto live = found(job, 1);
  ChildRank learner = job.join(1, 500, {{0, 100}});
  EXPECT_EQ(live.at(0).wait(), -SIGKILL);
  EXPECT_EQ(learner.wait(), 51);
}

TEST_P(Learners, StepsThatAreNotElementByElementAreFoundOut) {
  LearnerJob job(2, GetParam());
  job.keeps_promise = false;
  auto live = found(job, 2);
  ChildRank learner = job.join(2, 500, {{0, 100}, {1, 101}});
  EXPECT_EQ(learner.wait(), 21);
  job.wait_for_step(0, job.furthest() + 5);
  job.score->goal = job.furthest() + 5;
  for (auto& [slot, child] : live) EXPECT_EQ(child.wait(), 0);
  EXPECT_EQ(job.score->differences, 0u);
}

// Kills and joins at random moments, while some workers have the model and some do not.
TEST_P(Learners, AStorm) {
  Random random(17);
  for (int round = 0; round < 3; ++round) {
    LearnerJob job(3, GetParam());
    auto live = found(job, 3);
    WorkerId next_id = 1000;
    for (int event = 0; event < 16; ++event) {
      ::usleep(static_cast<useconds_t>(random.below(40'000)));
      // On several hosts a majority has to be left, and initial workers certainly have the model.
      const bool kills = random.below(2) == 0 && live.size() > 3;
      if (kills) {
        auto victim = std::next(live.begin(), 3 + static_cast<std::ptrdiff_t>(random.below(live.size() - 3)));
        victim->second.kill(SIGKILL);
        EXPECT_EQ(victim->second.wait(), -SIGKILL);
        job.score->steps[victim->first] = 0;
        live.erase(victim);
        ::usleep(20'000);
      } else if (live.size() < 5) {
        int slot = 3;
        while (live.contains(slot)) ++slot;
        live.emplace(slot, job.join(slot, next_id++, {{0, 100}, {1, 101}, {2, 102}}));
      }
    }
    for (auto& [slot, child] : live) job.wait_for_step(slot, 1);
    end_well(job, live);
  }
}

INSTANTIATE_TEST_SUITE_P(Hosts, Learners, testing::Values(1, 3));

TEST(ModelTransfer, PiecesFitIntoATenthOfAStep) {
  constexpr std::uint64_t kPiece = 1 << 20;
  // A tenth of a step of 100 ms is 10 ms: 3 ms can be doubled, 6 ms stays, 12 ms is too long.
  EXPECT_EQ(next_piece_bytes(kPiece, Seconds(0.003), Seconds(0.1)), 2 * kPiece);
  EXPECT_EQ(next_piece_bytes(kPiece, Seconds(0.006), Seconds(0.1)), kPiece);
  EXPECT_EQ(next_piece_bytes(kPiece, Seconds(0.012), Seconds(0.1)), kPiece / 2);
  // A millisecond is always allowed.
  EXPECT_EQ(next_piece_bytes(kPiece, Seconds(0.0003), Seconds(0.0005)), 2 * kPiece);
  EXPECT_EQ(next_piece_bytes(64 << 10, Seconds(1), Seconds(0.1)), std::uint64_t{64 << 10});
}

}  // namespace
}  // namespace orrery::elastic
