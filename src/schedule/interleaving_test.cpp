// The time of an iteration when stages of several jobs take turns.

#include "schedule/interleaving.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <rapidcheck/gtest.h>

namespace orrery::schedule {
namespace {

StageTimes apart(double storage, double processors, double gpu, double network) {
  return {.storage_s = storage,
          .processors_s = processors,
          .gpu_s = gpu,
          .network_s = network,
          .iteration_s = storage + processors + gpu + network};
}

StageTimes joint(double load, double gpu, double network) {
  return {.load_s = load, .gpu_s = gpu, .network_s = network, .iteration_s = load + gpu + network};
}

// One reads for 3 and computes for 1, the other reads for 1 and computes for 3. Two places apart, one reads while the
// other computes: phases of 3, 0, 1, 0, so T = 4, where turns take 8. For an efficiency of 1 all four resources would
// have to be in use: (4 + 4) / 4 / 4 = 0.5.
TEST(Interleaving, TwoByHand) {
  const StageTimes jobs[] = {apart(3, 0, 1, 0), apart(1, 0, 3, 0)};
  EXPECT_DOUBLE_EQ(interleaved_stages_s(jobs), 4);
  EXPECT_DOUBLE_EQ(interleaving_efficiency(jobs, 4), 0.5);
}

// Each on another resource: all four take as long as one.
TEST(Interleaving, FourThatNeverMeet) {
  const StageTimes jobs[] = {apart(2, 0, 0, 0), apart(0, 2, 0, 0), apart(0, 0, 2, 0), apart(0, 0, 0, 2)};
  EXPECT_DOUBLE_EQ(interleaved_stages_s(jobs), 2);
}

// Reading and preparing data as one takes two phases, in which another computes (5) and exchanges gradients (3) one
// after the other: T = max(6, 5 + 3) + max(4, 2 + 1) = 12, where turns take 9 + 12 = 21.
TEST(Interleaving, LoadingTakesTwoPhases) {
  const StageTimes jobs[] = {joint(6, 2, 1), joint(4, 5, 3)};
  EXPECT_DOUBLE_EQ(interleaved_stages_s(jobs), 12);
}

// Two jobs that only compute cannot take turns: T = 5 + 4, and contention is added. A job with a long iteration of its
// own lets the other wait.
TEST(Interleaving, ContentionAndTheSlowestCount) {
  const StageTimes same[] = {joint(0, 5, 0), joint(0, 4, 0)};
  EXPECT_DOUBLE_EQ(interleaved_stages_s(same), 9);
  EXPECT_DOUBLE_EQ(interleaved_iteration_s(same), 9 * 1.33 / 1.015);
  const StageTimes slow[] = {{.gpu_s = 1, .iteration_s = 100}, joint(1, 0, 0)};
  EXPECT_DOUBLE_EQ(interleaved_iteration_s(slow), 100);
  EXPECT_DOUBLE_EQ(interleaved_iteration_s(std::span(slow).first(1)), 100);
}

TEST(Interleaving, UnknownStagesFollowTheUseOfTheGpu) {
  const StageTimes stages = stages_of({.gpu_utilisation = 0.25});
  EXPECT_DOUBLE_EQ(stages.load_s, 0.75);
  EXPECT_DOUBLE_EQ(stages.gpu_s, 0.25);
  EXPECT_DOUBLE_EQ(stages.iteration_s, 1);
}

// The formula of the paper, for all orders of four jobs: sum over phases of the longest stage.
double by_the_paper(const std::vector<std::array<int, 4>>& jobs) {
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), 0);
  double best = 1e300;
  do {
    double sum = 0;
    for (std::size_t phase = 0; phase < 4; ++phase) {
      int longest = 0;
      for (std::size_t j = 0; j < jobs.size(); ++j) longest = std::max(longest, jobs[order[j]][(phase + j) % 4]);
      sum += longest;
    }
    best = std::min(best, sum);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

RC_GTEST_PROP(Interleaving, FourJobsFollowThePaper, ()) {
  std::vector<std::array<int, 4>> times(4);
  std::vector<StageTimes> jobs;
  for (auto& job : times) {
    for (int& stage : job) stage = *rc::gen::inRange(0, 20);
    jobs.push_back(apart(job[0], job[1], job[2], job[3]));
  }
  RC_ASSERT(interleaved_stages_s(jobs) == by_the_paper(times));
}

// The recurrence of the authors' simulator, with loading over two phases, for one order: after enough rounds every
// round takes as long.
double by_recurrence(const std::vector<StageTimes>& jobs, const std::vector<std::size_t>& order) {
  constexpr std::size_t kRounds = 12;
  std::vector<double> end(4 * kRounds + 1, 0);
  for (std::size_t i = 0; i < 4 * kRounds; ++i) {
    end[i + 1] =
        std::max({end[i], end[i] + jobs[order[(i + 1) % 4]].network_s, end[i] + jobs[order[(i + 2) % 4]].gpu_s});
    if (i > 0) end[i + 1] = std::max(end[i + 1], end[i - 1] + jobs[order[(i + 3) % 4]].load_s);
  }
  // Rounds may alternate: two of them.
  return (end[4 * kRounds] - end[4 * kRounds - 8]) / 2;
}

RC_GTEST_PROP(Interleaving, LoadingFollowsTheRecurrence, ()) {
  std::vector<StageTimes> jobs;
  for (int j = 0; j < 4; ++j) {
    jobs.push_back(joint(*rc::gen::inRange(0, 20), *rc::gen::inRange(0, 20), *rc::gen::inRange(0, 20)));
  }
  std::vector<std::size_t> order = {0, 1, 2, 3};
  double best = 1e300;
  do best = std::min(best, by_recurrence(jobs, order));
  while (std::next_permutation(order.begin(), order.end()));
  RC_ASSERT(std::abs(interleaved_stages_s(jobs) - best) < 1e-9);
}

}  // namespace
}  // namespace orrery::schedule
