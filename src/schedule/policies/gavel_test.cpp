#include <algorithm>
#include <gtest/gtest.h>

#include "base/random.h"
#include "schedule/policies/gavel_rounds.h"
#include "schedule/policies/gavel_shares.h"

namespace orrery::schedule {
namespace {

constexpr double kClose = 1e-6;

// One GPU of each of two types; the first job gains more from the fast one.
ShareProblem two_jobs() {
  ShareProblem problem;
  problem.gpus = {1, 1};
  problem.jobs = {{.speed = {4, 1}, .left = 400}, {.speed = {2, 1}, .left = 100}};
  return problem;
}

// Spread evenly the jobs do 2.5 and 1.5. With a part x of the fast GPU for the first, (1 + 3 x) / 2.5 = (2 - x) / 1.5
// at x = 1/2: both get 1, and no more is possible.
TEST(GavelShares, MaxMinByHand) {
  for (const bool central : {false, true}) {
    ShareProblem problem = two_jobs();
    problem.central = central;
    const Shares shares = max_min_shares(problem);
    EXPECT_NEAR(shares[0][0], 0.5, 1e-4);
    EXPECT_NEAR(shares[1][0], 0.5, 1e-4);
    const std::vector<double> speeds = speeds_with(problem, shares);
    EXPECT_NEAR(speeds[0] / 2.5, speeds[1] / 1.5, 1e-4);
  }
}

// The fast GPU to the first job gives 4 + 1, to the second 1 + 2.
TEST(GavelShares, ThroughputByHand) {
  ShareProblem problem = two_jobs();
  EXPECT_NEAR(throughput_shares(problem)[0][0], 1, kClose);
  // The second job has to do its 100 in 80 s, so it needs a speed of 1.25: a quarter of the fast GPU.
  problem.jobs[1].deadline_in_s = 80;
  const Shares kept = throughput_shares(problem);
  EXPECT_NEAR(speeds_with(problem, kept)[1], 1.25, kClose);
  EXPECT_NEAR(kept[1][0], 0.25, kClose);
  // No job can do it in 10 s, so no other job waits for it.
  problem.jobs[1].deadline_in_s = 10;
  EXPECT_NEAR(throughput_shares(problem)[0][0], 1, kClose);
  // A fast GPU that costs ten times as much is worth less than the slow one.
  problem.price = {10, 1};
  problem.jobs[1].deadline_in_s = kLpInfinity;
  problem.gpus = {1, 2};
  const Shares cheap = throughput_shares(problem);
  EXPECT_NEAR(cheap[0][1] + cheap[1][1], 2, kClose);
}

// Both end at the same time: (1 + 3 x) / 400 = (2 - x) / 100 at x = 7 / 7, beyond which the first cannot get more: the
// fast GPU is its own, and it ends at 100 s; the second at 100 s too.
TEST(GavelShares, MakespanByHand) {
  const ShareProblem problem = two_jobs();
  const std::vector<double> speeds = speeds_with(problem, makespan_shares(problem));
  EXPECT_NEAR(speeds[0], 4, kClose);
  EXPECT_NEAR(speeds[1], 1, kClose);
}

// On one type the shares are known without a program; the same jobs with a second type that has no GPUs need one. As
// early an end, and as much of everything else.
TEST(GavelShares, MakespanOnOneTypeIsThatOfTheProgram) {
  Random random = Random(7).split("makespan");
  for (int round = 0; round < 50; ++round) {
    ShareProblem one, two;
    one.gpus = {static_cast<double>(1 + random.below(20))};
    two.gpus = {one.gpus[0], 0};
    for (std::size_t j = 1 + random.below(12); j > 0; --j) {
      const double speed = 1 + random.uniform(), left = 10 + 1000 * random.uniform();
      const int gpus = 1 + static_cast<int>(random.below(4));
      one.jobs.push_back({.speed = {speed}, .gpus = gpus, .left = left});
      two.jobs.push_back({.speed = {speed, speed}, .gpus = gpus, .left = left});
    }
    const Shares known = makespan_shares(one), solved = makespan_shares(two);
    double end_known = 0, end_solved = 0, sum_known = 0, sum_solved = 0, used = 0;
    for (std::size_t j = 0; j < one.jobs.size(); ++j) {
      const ShareJob& job = one.jobs[j];
      end_known = std::max(end_known, job.left / (job.speed[0] * known[j][0]));
      end_solved = std::max(end_solved, job.left / (job.speed[0] * solved[j][0]));
      sum_known += known[j][0];
      sum_solved += solved[j][0];
      used += job.gpus * known[j][0];
      EXPECT_LE(known[j][0], 1 + kClose);
    }
    EXPECT_LE(used, one.gpus[0] + kClose);
    EXPECT_NEAR(end_known / end_solved, 1, 1e-4);
    EXPECT_NEAR(sum_known / sum_solved, 1, 1e-4);
  }
}

// Two jobs of equal speed and length on one GPU; the first has waited for as long as it would have run alone with half
// the GPU. Fair is r with (age + left / v) / isolated = r for both: (200 + 100 / v) / 400 = (100 / (1 - v)) / 200, with
// isolated times of 200 so far and 200 to come: v = 1/2 gives 1 = 1.
TEST(GavelShares, FinishTimesByHand) {
  ShareProblem problem;
  problem.gpus = {1};
  problem.jobs = {{.speed = {1}, .age_s = 200, .left = 100, .isolated_s = 200}, {.speed = {1}, .left = 100}};
  for (const bool central : {false, true}) {
    problem.central = central;
    const Shares shares = finish_time_shares(problem);
    EXPECT_NEAR(shares[0][0], 0.5, 1e-3);
    EXPECT_NEAR(shares[1][0], 0.5, 1e-3);
  }
}

TEST(GavelShares, EqualSharesAreAtMostOne) {
  ShareProblem problem;
  problem.gpus = {2, 6};
  problem.jobs = {{.speed = {1, 1}}, {.speed = {1, 1}, .gpus = 4}};
  const Shares shares = isolated_shares(problem);
  EXPECT_NEAR(shares[0][0] + shares[0][1], 1, kClose);  // four GPUs' worth, of which one job can use one
  EXPECT_NEAR(shares[1][0], 2.0 / 2 / 4, kClose);
  EXPECT_NEAR(shares[1][1], 6.0 / 2 / 4, kClose);
}

// Two jobs that keep 0.8 of their speed beside each other get more of one GPU together than in turns.
TEST(GavelShares, PairsAreUsedWhereTheyPay) {
  ShareProblem problem;
  problem.gpus = {1};
  problem.jobs = {{.speed = {1}}, {.speed = {1}}};
  problem.pairs = {{0, 1, {0.8}, {0.8}}};
  const Shares together = max_min_shares(problem);
  EXPECT_NEAR(together[2][0], 1, kClose);
  problem.pairs[0].first_speed = problem.pairs[0].second_speed = {0.4};
  const Shares apart = max_min_shares(problem);
  EXPECT_NEAR(apart[0][0], 0.5, kClose);
  EXPECT_NEAR(apart[1][0], 0.5, kClose);
}

TEST(GavelShares, NoJobGetsMoreThanThereIs) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Random random(seed);
    ShareProblem problem;
    for (int k = 0; k < 3; ++k) problem.gpus.push_back(1.0 + static_cast<double>(random.below(8)));
    const std::size_t count = 1 + random.below(30);
    for (std::size_t j = 0; j < count; ++j) {
      ShareJob& job = problem.jobs.emplace_back();
      job.speed = {random.uniform(1, 9), random.uniform(0.5, 4), random.below(4) == 0 ? 0 : random.uniform(0.1, 2)};
      job.gpus = 1 << random.below(2);
      job.left = random.uniform(1, 1e6);
      job.age_s = random.uniform(0, 1e5);
      job.isolated_s = random.uniform(0, 1e5);
      if (random.below(5) == 0) job.deadline_in_s = random.uniform(1e3, 1e6);
    }
    problem.central = seed % 2 == 0;
    for (const auto solver :
         {max_min_shares, finish_time_shares, makespan_shares, throughput_shares, isolated_shares}) {
      const Shares shares = solver(problem);
      std::vector<double> used(3, 0);
      for (std::size_t j = 0; j < count; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 3; ++k) {
          EXPECT_GE(shares[j][k], 0);
          sum += shares[j][k];
          used[k] += shares[j][k] * problem.jobs[j].gpus;
        }
        EXPECT_LE(sum, 1 + 1e-5) << seed;
      }
      for (std::size_t k = 0; k < 3; ++k) EXPECT_LE(used[k], problem.gpus[k] * (1 + 1e-5)) << seed;
    }
  }
}

constexpr JobIndex kJobs[] = {JobIndex(0), JobIndex(1), JobIndex(2)};

// One GPU, shares of 0.75 and 0.25: over many rounds the times received approach them.
TEST(GavelRounds, TimesFollowShares) {
  GavelRounds rounds(1, 360);
  rounds.add({kJobs[0], kNoJob}, 1, {true});
  rounds.add({kJobs[1], kNoJob}, 1, {true});
  rounds.restart(0);
  rounds.set_share({kJobs[0], kNoJob}, {0.75});
  rounds.set_share({kJobs[1], kNoJob}, {0.25});
  int first = 0;
  const std::vector<std::size_t> order = {0};
  for (int round = 0; round < 400; ++round) {
    const auto taken = rounds.choose(order, {1}, {});
    ASSERT_EQ(taken.size(), 1u);
    first += taken[0].unit.first == kJobs[0] ? 1 : 0;
    rounds.count(taken[0].unit, 0, 360);
  }
  EXPECT_NEAR(first, 300, 2);
}

TEST(GavelRounds, AJobRunsOnceAndWhatIsLeftIsUsed) {
  GavelRounds rounds(2, 360);
  rounds.add({kJobs[0], kNoJob}, 1, {true, true});
  rounds.add({kJobs[1], kNoJob}, 2, {true, true});
  rounds.add({kJobs[2], kNoJob}, 1, {true, false});
  rounds.add({kJobs[0], kJobs[2]}, 1, {true, true});
  rounds.restart(0);
  rounds.set_share({kJobs[0], kNoJob}, {1, 1});
  rounds.set_share({kJobs[1], kNoJob}, {0.5, 0});
  rounds.set_share({kJobs[0], kJobs[2]}, {0, 0});
  const std::vector<std::size_t> order = {0, 1};
  // The first type: job 0, then 1 does not fit, then 2 without a share. The second: 1, with priority 0.
  const auto all = rounds.choose(order, {2, 2}, {});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].unit, (RoundUnit{kJobs[0], kNoJob}));
  EXPECT_EQ(all[1].unit, (RoundUnit{kJobs[2], kNoJob}));
  EXPECT_FALSE(all[1].has_share);
  EXPECT_EQ(all[2].unit, (RoundUnit{kJobs[1], kNoJob}));
  EXPECT_EQ(all[2].type, 1u);
  EXPECT_EQ(rounds.choose(order, {2, 2}, {.idle_jobs = false, .idle_pairs = false}).size(), 1u);
  const std::vector<JobIndex> without = {kJobs[0]};
  EXPECT_EQ(rounds.choose(order, {2, 2}, {.without = without})[0].unit, (RoundUnit{kJobs[1], kNoJob}));
  rounds.remove(kJobs[0]);
  EXPECT_FALSE(rounds.has({kJobs[0], kJobs[2]}));
  EXPECT_TRUE(rounds.has({kJobs[2], kNoJob}));
}

}  // namespace
}  // namespace orrery::schedule
