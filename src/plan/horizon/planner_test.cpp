#include "plan/horizon/planner.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "env/sim_env.h"
#include "plan/horizon/bound.h"
#include "plan/horizon/search.h"
#include "plan/horizon/test_problem.h"

namespace orrery::plan::horizon {
namespace {

// The cost of the cheapest schedule, by trying every start of every task and every packing of every period.
class BruteForce {
 public:
  explicit BruteForce(const Problem& problem) : problem_(problem), starts_(problem.tasks.size()) { place(0); }

  double least_usd() const { return least_; }

 private:
  void place(std::size_t task) {
    if (task == starts_.size()) {
      least_ = std::min(least_, price());
      return;
    }
    const Task& one = problem_.tasks[task];
    for (std::size_t m = 0; m < one.modes.size(); ++m)
      for (int k = 0; k < problem_.periods; ++k) {
        const double end = k * problem_.period_s + one.modes[m].time_s;
        if (k * problem_.period_s < one.submit_s || end > problem_.end_s() || (one.runs && k > 0)) continue;
        if (one.must && end > one.due_s) continue;
        starts_[task] = {m, k};
        place(task + 1);
      }
  }

  // The fewest machines for parts from `next` on, into machines that have this much free.
  static int fewest(const std::vector<int>& parts, std::size_t next, std::vector<int>& room, int gpus) {
    if (next == parts.size()) return static_cast<int>(room.size());
    int least = 1000;
    for (std::size_t i = 0; i < room.size(); ++i) {
      if (room[i] < parts[next]) continue;
      room[i] -= parts[next];
      least = std::min(least, fewest(parts, next + 1, room, gpus));
      room[i] += parts[next];
    }
    room.push_back(gpus - parts[next]);
    least = std::min(least, fewest(parts, next + 1, room, gpus));
    room.pop_back();
    return least;
  }

  double price() const {
    std::vector<double> used(problem_.budgets.size() + 1, 0);
    const auto count = [&](auto amount) {
      used[0] += amount(problem_.tariff);
      for (std::size_t b = 0; b < problem_.budgets.size(); ++b) used[b + 1] += amount(problem_.budgets[b].tariff);
    };
    for (int t = 0; t < problem_.periods; ++t) {
      int open = 0;
      std::vector<int> machines;
      for (std::size_t vm = 0; vm < problem_.vm_types.size(); ++vm) {
        std::vector<int> parts, room;
        for (std::size_t i = 0; i < starts_.size(); ++i) {
          const Mode& mode = problem_.tasks[i].modes[starts_[i].mode];
          const double from = t * problem_.period_s, begin = starts_[i].period * problem_.period_s;
          const double there = std::min(from + problem_.period_s, begin + mode.time_s) - std::max(from, begin);
          if (mode.vm != vm || there <= 0) continue;
          for (int m = 0; m < mode.machines; ++m) parts.push_back(mode.gpus);
          const std::size_t at = vm * static_cast<std::size_t>(problem_.periods) + static_cast<std::size_t>(t);
          count([&](const Tariff& tariff) { return there * mode.gpus * mode.machines * tariff.busy_gpu_s[at]; });
        }
        machines.push_back(fewest(parts, 0, room, problem_.vm_types[vm].gpus));
        open += machines.back();
        if (machines.back() > problem_.vm_types[vm].nodes_max) return kNever;
        const std::size_t at = vm * static_cast<std::size_t>(problem_.periods) + static_cast<std::size_t>(t);
        count([&](const Tariff& tariff) { return machines.back() * tariff.machine[at]; });
      }
      if (open > problem_.nodes) return kNever;
      for (const Quota& quota : problem_.quotas) {
        int gpus = 0;
        for (const std::size_t vm : quota.vms) gpus += machines[vm] * problem_.vm_types[vm].gpus;
        if (gpus > quota.gpus_max) return kNever;
      }
    }
    for (std::size_t b = 0; b < problem_.budgets.size(); ++b)
      if (used[b + 1] > problem_.budgets[b].most) return kNever;
    double usd = used[0];
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const Task& task = problem_.tasks[i];
      const double end = starts_[i].period * problem_.period_s + task.modes[starts_[i].mode].time_s;
      usd += task.weight_usd_s * std::max(0.0, end - task.due_s);
    }
    return usd;
  }

  const Problem& problem_;
  std::vector<Start> starts_;
  double least_ = kNever;
};

TEST(HorizonPlanner, FindsWhatTryingEverythingFinds) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Problem problem = synthetic(seed);
    const double least = BruteForce(problem).least_usd();
    const auto report = make_schedule(problem, {}, env::make_real_env());
    ASSERT_EQ(report.has_value(), least < kNever) << seed << report.error().to_string();
    if (!report) continue;
    EXPECT_TRUE(report->proven) << seed << " " << report->note;
    EXPECT_NEAR(report->total_usd(), least, 1e-6) << seed;
  }
}

TEST(HorizonPlanner, KeepsLimitsAndFindsWhatTryingEverythingFinds) {
  int served = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Problem problem = synthetic(seed, {.limits = true});
    const double least = BruteForce(problem).least_usd();
    const auto report = make_schedule(problem, {}, env::make_real_env());
    ASSERT_EQ(report.has_value(), least < kNever) << seed << (report ? "" : report.error().to_string());
    if (!report) {
      EXPECT_EQ(report.error().code(), ErrorCode::kInfeasible);
      continue;
    }
    ++served;
    EXPECT_TRUE(report->proven) << seed << " " << report->note;
    EXPECT_NEAR(report->total_usd(), least, 1e-6) << seed;
  }
  EXPECT_GE(served, 5);
}

RC_GTEST_PROP(HorizonPlanner, IsNeverWorseThanItsGreedyAndReconciles, ()) {
  Synthetic size{
      .periods = *rc::gen::inRange(2, 8), .nodes = *rc::gen::inRange(1, 5), .tasks = *rc::gen::inRange(3, 9)};
  size.limits = *rc::gen::arbitrary<bool>();
  const Problem problem = synthetic(*rc::gen::inRange<std::uint64_t>(1, 100000), size);
  env::SimEnv sim;
  const auto report = make_schedule(problem, {.heuristic_only = true}, sim.env());
  if (!report) {
    RC_ASSERT(report.error().code() == ErrorCode::kInfeasible);
    return;
  }
  RC_ASSERT(report->total_usd() <= report->greedy_usd + 1e-9);
  RC_ASSERT(report->bound_usd <= report->total_usd());
  const auto checked = check_schedule(problem, report->schedule);
  RC_ASSERT(checked.has_value());
  RC_ASSERT(std::abs(static_cast<double>(*checked) / 1e9 - report->total_usd()) < 1e-6);
  double machines = 0;
  for (int t = 0; t < problem.periods; ++t)
    for (const Node& node : report->schedule.nodes[static_cast<std::size_t>(t)])
      machines += problem.tariff.machine[problem.at(node.vm, t)];
  RC_ASSERT(std::abs(machines - report->cost.machines_usd) < 1e-9);
}

RC_GTEST_PROP(HorizonPlanner, TheOrderOfTasksChangesNothing, ()) {
  const Problem problem = synthetic(*rc::gen::inRange<std::uint64_t>(1, 100000), {.periods = 6, .tasks = 6});
  Problem other = problem;
  Random random(*rc::gen::inRange<std::uint64_t>(1, 1000));
  for (std::size_t i = other.tasks.size(); i > 1; --i) std::swap(other.tasks[i - 1], other.tasks[random.below(i)]);
  put_in_order(other.tasks);
  env::SimEnv sim;
  const auto one = make_schedule(problem, {.heuristic_only = true}, sim.env());
  const auto two = make_schedule(other, {.heuristic_only = true}, sim.env());
  RC_ASSERT(one.has_value() == two.has_value());
  if (!one) return;
  RC_ASSERT(one->total_usd() == two->total_usd());
  RC_ASSERT(one->bound_usd == two->bound_usd);
}

TEST(HorizonPlanner, SaysWhatIsInTheWayAndByHowMuch) {
  Problem problem;
  problem.periods = 3;
  problem.vm_types = {{"vm", "A", 1, 1}};
  problem.tariff = {{1, 1, 1}, {0, 0, 0}};
  problem.tasks = {{.id = "a", .modes = {{0, 1, 1, 7200, {}}}}, {.id = "b", .modes = {{0, 1, 1, 7200, {}}}}};
  env::SimEnv sim;
  const auto says = [&](std::string_view words) {
    const auto report = make_schedule(problem, {.heuristic_only = true}, sim.env());
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().to_string().find(words), std::string::npos) << report.error().to_string();
  };
  says("2 machines at once would do, 1 are allowed");
  problem.nodes = 2;
  problem.budgets = {{"budget_usd", problem.tariff, 3}};
  says("budget_usd: 4.00 would do, 3.00 are allowed");
  problem.budgets.clear();
  problem.tasks[0].must = true;
  problem.tasks[0].due_s = 3600;
  says("a: due after 60.0 min, but ends after 2.00 h at the earliest: 60.0 min too late");
  problem.tasks[0].must = false;
  problem.tasks[1].submit_s = 7200;
  says("b: ends after 4.00 h at the earliest, 60.0 min after the horizon");
}

TEST(HorizonChecker, FindsWhatIsWrong) {
  const Problem problem = synthetic(3);
  env::SimEnv sim;
  const auto report = make_schedule(problem, {.heuristic_only = true}, sim.env());
  ASSERT_TRUE(report);
  EXPECT_TRUE(check_claim(problem, report->schedule, report->total_usd()));
  EXPECT_EQ(check_claim(problem, report->schedule, report->total_usd() + 0.01).error().code(), ErrorCode::kInternal);
  Schedule twice = report->schedule;
  for (auto& nodes : twice.nodes)
    if (!nodes.empty()) nodes.push_back(nodes.front());
  EXPECT_FALSE(check_schedule(problem, twice));
  Schedule gone = report->schedule;
  for (auto& nodes : gone.nodes) nodes.clear();
  EXPECT_FALSE(check_schedule(problem, gone));
}

}  // namespace
}  // namespace orrery::plan::horizon
