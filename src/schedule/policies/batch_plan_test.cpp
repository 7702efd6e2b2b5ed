#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "base/random.h"
#include "schedule/policies/allox.h"
#include "schedule/policies/hydra.h"

namespace orrery::schedule {
namespace {

BatchProblem random_problem(std::uint64_t seed, std::size_t jobs, double deadline_share) {
  Random random(seed);
  BatchProblem problem;
  problem.machines = {1 + static_cast<int>(random.below(2)), 1 + static_cast<int>(random.below(2))};
  for (std::size_t j = 0; j < jobs; ++j) {
    BatchJob& job = problem.jobs.emplace_back();
    // Few values, so that there are ties.
    for (int t = 0; t < 2; ++t) job.runtime_s.push_back(static_cast<double>(1 + random.below(6)));
    if (random.uniform() < deadline_share) job.deadline_s = static_cast<double>(1 + random.below(12));
  }
  return problem;
}

// Three types, of which some jobs run on some only; lengths spread over decades, as those of real jobs are.
BatchProblem partial_problem(std::uint64_t seed, std::size_t jobs) {
  Random random = Random(seed).split("partial");
  BatchProblem problem;
  for (int t = 0; t < 3; ++t) problem.machines.push_back(1 + static_cast<int>(random.below(2)));
  for (std::size_t j = 0; j < jobs; ++j) {
    BatchJob& job = problem.jobs.emplace_back();
    const double length = std::exp(random.uniform(0, 9));
    for (int t = 0; t < 3; ++t) {
      const bool runs = random.uniform() < 0.7;
      job.runtime_s.push_back(runs ? length * random.uniform(0.3, 3) : kNoDeadline);
    }
    if (*std::min_element(job.runtime_s.begin(), job.runtime_s.end()) == kNoDeadline) job.runtime_s[0] = length;
  }
  return problem;
}

// Tries every machine for every job; on one machine shortest first is best.
double best_total(const BatchProblem& problem) {
  std::vector<int> type_of;
  for (std::size_t t = 0; t < problem.machines.size(); ++t) {
    for (int m = 0; m < problem.machines[t]; ++m) type_of.push_back(static_cast<int>(t));
  }
  const std::size_t jobs = problem.jobs.size(), machines = type_of.size();
  std::size_t count = 1;
  for (std::size_t j = 0; j < jobs; ++j) count *= machines;
  double best = kNoDeadline;
  for (std::size_t code = 0; code < count; ++code) {
    std::vector<std::vector<double>> queues(machines);
    std::size_t rest = code;
    for (std::size_t j = 0; j < jobs; ++j, rest /= machines) {
      const std::size_t m = rest % machines;
      queues[m].push_back(problem.jobs[j].runtime_s[static_cast<std::size_t>(type_of[m])]);
    }
    double total = 0;
    for (std::vector<double>& queue : queues) {
      std::sort(queue.begin(), queue.end());
      double at = 0;
      for (const double runtime : queue) total += at += runtime;
    }
    best = std::min(best, total);
  }
  return best;
}

TEST(Allox, IsTheBestOfAllAssignments) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const BatchProblem problem = random_problem(seed, 2 + seed % 5, 0);
    const auto queues = solve_allox(problem);
    ASSERT_TRUE(queues.has_value());
    EXPECT_DOUBLE_EQ(plan_of(problem, *queues).total_s, best_total(problem)) << "seed " << seed;
  }
}

TEST(Allox, IsTheBestOfAllAssignmentsWhereJobsRunOnSomeTypesOnly) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const BatchProblem problem = partial_problem(seed, 2 + seed % 5);
    const auto queues = solve_allox(problem);
    ASSERT_TRUE(queues.has_value());
    const double total = plan_of(problem, *queues).total_s;
    EXPECT_NEAR(total, best_total(problem), 1e-9 * total) << "seed " << seed;
  }
}

TEST(Allox, LongestJobsRunLast) {
  // One machine, runtimes 1, 2, 3: 1 + 3 + 6 = 10.
  const BatchProblem problem{{1}, {{{3}}, {{1}}, {{2}}}};
  const auto queues = solve_allox(problem);
  ASSERT_TRUE(queues.has_value());
  const BatchPlan plan = plan_of(problem, *queues);
  EXPECT_DOUBLE_EQ(plan.total_s, 10);
  EXPECT_EQ(plan.places[0].order, 2);
}

TEST(Allox, RefusesRuntimesThatAreNone) {
  EXPECT_FALSE(solve_allox({{1}, {{{0}}}}).has_value());
  EXPECT_FALSE(solve_allox({{1}, {{{kNoDeadline}}}}).has_value());
  EXPECT_FALSE(solve_allox({{1, 1}, {{{1}}}}).has_value());
  EXPECT_FALSE(solve_allox({{0}, {{{1}}}}).has_value());
}

TEST(Hydra, KeepsADeadlineThatTheShortestTotalMisses) {
  // Shortest first: job 1 ends at 1, job 0 at 4, one late. Job 0 first: both at 3 and 4, none late.
  const BatchProblem problem{{1}, {{{3}, 3}, {{1}, kNoDeadline}}};
  const auto queues = plan_hydra(problem);
  ASSERT_TRUE(queues.has_value());
  const BatchPlan plan = plan_of(problem, *queues);
  EXPECT_EQ(plan.late, 0);
  EXPECT_DOUBLE_EQ(plan.total_s, 7);
}

// The published procedure without its repairs: the cheapest job on the cheapest GPU next, at the best place of its
// queue.
BatchPlan greedy_plan(const BatchProblem& problem) {
  std::vector<BatchQueue> queues;
  for (std::size_t t = 0; t < problem.machines.size(); ++t) {
    for (int m = 0; m < problem.machines[t]; ++m) queues.push_back({static_cast<int>(t), m, {}});
  }
  const auto cost = [&](const BatchQueue& queue) {
    double at = 0, total = 0, overrun = 0;
    for (const int j : queue.jobs) {
      const BatchJob& job = problem.jobs[static_cast<std::size_t>(j)];
      at += job.runtime_s[static_cast<std::size_t>(queue.type)];
      total += at;
      overrun += std::max(0.0, at - job.deadline_s);
    }
    return std::pair(overrun, total);
  };
  std::vector<int> waiting(problem.jobs.size());
  std::iota(waiting.begin(), waiting.end(), 0);
  while (!waiting.empty()) {
    std::pair best(kNoDeadline, kNoDeadline);
    std::size_t best_job = 0, best_queue = 0;
    BatchQueue best_order;
    for (std::size_t w = 0; w < waiting.size(); ++w) {
      for (std::size_t q = 0; q < queues.size(); ++q) {
        const auto before = cost(queues[q]);
        for (std::size_t place = 0; place <= queues[q].jobs.size(); ++place) {
          BatchQueue tried = queues[q];
          tried.jobs.insert(tried.jobs.begin() + static_cast<std::ptrdiff_t>(place), waiting[w]);
          const auto after = cost(tried);
          const std::pair added(after.first - before.first, after.second - before.second);
          if (!(added < best)) continue;
          best = added;
          best_job = w;
          best_queue = q;
          best_order = tried;
        }
      }
    }
    queues[best_queue] = best_order;
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(best_job));
  }
  return plan_of(problem, queues);
}

TEST(Hydra, IsNotWorseThanThePublishedProcedureOnBatchesLikeItsOwn) {
  for (std::uint64_t seed = 200; seed < 212; ++seed) {
    Random random(seed);
    BatchProblem problem;
    problem.machines = {2, 3, 2};
    for (int j = 0; j < 36; ++j) {
      BatchJob& job = problem.jobs.emplace_back();
      const double length = std::exp(7 + random.normal());
      for (const double low : {0.5, 1.0, 1.5}) job.runtime_s.push_back(length * random.uniform(low, low + 1));
      if (random.uniform() < 0.3) job.deadline_s = length * random.uniform(1, 12);
    }
    const auto queues = plan_hydra(problem);
    ASSERT_TRUE(queues.has_value());
    const BatchPlan ours = plan_of(problem, *queues), greedy = greedy_plan(problem);
    EXPECT_LE(ours.overrun_s, greedy.overrun_s + 1e-6) << "seed " << seed;
    if (ours.overrun_s > greedy.overrun_s - 1e-6) {
      EXPECT_LE(ours.total_s, greedy.total_s * 1.001) << "seed " << seed;
    }
  }
}

TEST(Hydra, OverrunsAreNeverMoreThanThoseOfTheShortestTotal) {
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    const BatchProblem problem = random_problem(seed, 12, 0.5);
    const auto allox = solve_allox(problem), hydra = plan_hydra(problem);
    ASSERT_TRUE(allox.has_value() && hydra.has_value());
    const BatchPlan shortest = plan_of(problem, *allox), first = plan_of(problem, *hydra);
    EXPECT_LE(first.overrun_s, shortest.overrun_s + 1e-6) << "seed " << seed;
    EXPECT_GE(first.total_s, shortest.total_s - 1e-6) << "seed " << seed;
  }
}

}  // namespace
}  // namespace orrery::schedule
