// Which jobs run interleaved.

#include "schedule/policies/muri_groups.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "schedule/interleaving.h"

namespace orrery::schedule {
namespace {

StageTimes stages(double load, double gpu, double network) {
  return {.load_s = load, .gpu_s = gpu, .network_s = network, .iteration_s = load + gpu + network};
}

JobFacts job(const StageTimes& times, int gpus) {
  return {.gpus = gpus, .stages = shared_stages(times)};
}

std::vector<std::vector<int>> members(const std::vector<MuriGroup>& groups) {
  std::vector<std::vector<int>> jobs;
  for (const MuriGroup& group : groups) jobs.push_back(group.jobs);
  return jobs;
}

// One loads, one computes: together T = 10 x 1.31, so each has 0.76 of its speed, 1.53 together.
const StageTimes kLoads = stages(10, 0, 0), kComputes = stages(0, 10, 0);

TEST(MuriGroups, NoJobsShareWhileAllFit) {
  const JobFacts jobs[] = {job(kLoads, 2), job(kComputes, 2)};
  EXPECT_EQ(members(MuriGrouping().groups(jobs, 4)), (std::vector<std::vector<int>>{{0}, {1}}));
  EXPECT_EQ(members(MuriGrouping().groups(jobs, 3)), (std::vector<std::vector<int>>{{0, 1}}));
}

TEST(MuriGroups, OnlyJobsWithAsManyGpus) {
  const JobFacts jobs[] = {job(kLoads, 1), job(kComputes, 2), job(kComputes, 1)};
  EXPECT_EQ(members(MuriGrouping().groups(jobs, 1)), (std::vector<std::vector<int>>{{0, 2}, {1}}));
}

// Two that only compute do less work together than by taking turns.
TEST(MuriGroups, JobsThatWantTheSameStayAlone) {
  const JobFacts jobs[] = {job(kComputes, 1), job(kComputes, 1), job(kComputes, 1)};
  EXPECT_EQ(MuriGrouping().groups(jobs, 1).size(), 3u);
}

// Three resources, in turns of 10: T = 10 x 1.48 for all three. The limit of jobs holds.
TEST(MuriGroups, AsManyAsAllowed) {
  const JobFacts jobs[] = {job(kLoads, 1), job(kComputes, 1), job(stages(0, 0, 10), 1)};
  EXPECT_EQ(members(MuriGrouping().groups(jobs, 1)), (std::vector<std::vector<int>>{{0, 1, 2}}));
  EXPECT_EQ(MuriGrouping({.size_max = 2}).groups(jobs, 1).size(), 2u);
  EXPECT_EQ(MuriGrouping({.size_max = 1}).groups(jobs, 1).size(), 3u);
}

// Jobs that are not profiled share only as far as their memory fits.
TEST(MuriGroups, MemoryMustFitWhereItIsKnown) {
  JobFacts half = {.gpu_utilisation = 0.4, .gpu_memory_share = 0.5}, more = half;
  more.gpu_memory_share = 0.6;
  const JobFacts fit[] = {half, half}, too_much[] = {half, more};
  EXPECT_EQ(MuriGrouping().groups(fit, 1).size(), 1u);
  EXPECT_EQ(MuriGrouping().groups(too_much, 1).size(), 2u);
}

double joined_efficiency(const StageTimes& a, const StageTimes& b) {
  const StageTimes both[] = {a, b};
  const double period_s = interleaved_iteration_s(both);
  if ((a.iteration_s + b.iteration_s) / period_s <= 1) return 0;
  return interleaving_efficiency(both, period_s);
}

// The largest sum of efficiencies over all ways to pair jobs.
double best_sum(const std::vector<StageTimes>& jobs, std::vector<bool>& used, std::size_t from) {
  while (from < jobs.size() && used[from]) ++from;
  if (from == jobs.size()) return 0;
  used[from] = true;
  double best = best_sum(jobs, used, from + 1);
  for (std::size_t other = from + 1; other < jobs.size(); ++other) {
    const double efficiency = joined_efficiency(jobs[from], jobs[other]);
    if (used[other] || efficiency == 0) continue;
    used[other] = true;
    best = std::max(best, efficiency + best_sum(jobs, used, from + 1));
    used[other] = false;
  }
  used[from] = false;
  return best;
}

// Pairs of up to eight jobs that all want the same GPU: exact is best, greedy has at least half of it.
RC_GTEST_PROP(MuriGroups, PairsAreTheBestThereAre, ()) {
  std::vector<JobFacts> jobs;
  std::vector<StageTimes> times;
  for (int count = *rc::gen::inRange(2, 9); count > 0; --count) {
    times.push_back(stages(*rc::gen::inRange(0, 10), *rc::gen::inRange(0, 10), *rc::gen::inRange(1, 10)));
    jobs.push_back(job(times.back(), 1));
  }
  std::vector<bool> used(times.size(), false);
  const double best = best_sum(times, used, 0);
  const auto sum_of = [&](std::size_t exact_max) {
    double sum = 0;
    // With GPUs for one job no other has a reason to stay alone.
    for (const MuriGroup& group : MuriGrouping({.size_max = 2, .exact_max = exact_max}).groups(jobs, 1)) {
      sum += group.jobs.size() == 2 ? group.efficiency : 0;
    }
    return sum;
  };
  const double exact = sum_of(64), greedy = sum_of(0);
  RC_ASSERT(std::abs(exact - best) < 1e-6);
  RC_ASSERT(greedy <= best + 1e-6 && greedy >= best / 2 - 1e-6);
}

// For any jobs, each is in exactly one group, and groups are of one size and within the limit.
RC_GTEST_PROP(MuriGroups, EveryJobIsInOneGroup, ()) {
  std::vector<JobFacts> jobs;
  for (int count = *rc::gen::inRange(1, 120); count > 0; --count) {
    const StageTimes times = stages(*rc::gen::inRange(0, 4), *rc::gen::inRange(0, 4), *rc::gen::inRange(1, 4));
    jobs.push_back(job(times, 1 << *rc::gen::inRange(0, 3)));
  }
  std::vector<int> seen(jobs.size(), 0);
  for (const MuriGroup& group : MuriGrouping().groups(jobs, *rc::gen::inRange(1, 100))) {
    RC_ASSERT(group.jobs.size() <= kGroupMax);
    for (const int job : group.jobs) {
      ++seen[static_cast<std::size_t>(job)];
      RC_ASSERT(jobs[static_cast<std::size_t>(job)].gpus == group.gpus);
    }
  }
  RC_ASSERT(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

}  // namespace
}  // namespace orrery::schedule
