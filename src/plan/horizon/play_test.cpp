#include "plan/horizon/play.h"

#include <gtest/gtest.h>

#include "plan/choice.h"
#include "plan/horizon/likely.h"
#include "plan/horizon/test_problem.h"

namespace orrery::plan::horizon {
namespace {

// Machines of one GPU at a dollar for each of 12 periods of an hour, and one task on it.
Problem one_task(double likely_s, double low_s, double high_s, double due_s) {
  Problem problem;
  problem.periods = 12;
  problem.vm_types = {{"vm", "A", 1, 1}};
  problem.tariff = {std::vector<double>(12, 1), std::vector<double>(12, 0)};
  problem.tasks = {
      {.id = "a", .due_s = due_s, .weight_usd_s = 1, .modes = {{0, 1, 1, likely_s, {likely_s, low_s, high_s}}}}};
  return problem;
}

TEST(LikelyTest, QuantilesAreThoseOfTheInterval) {
  const predict::Estimate<double> time{100, 80, 150};
  EXPECT_NEAR(time_within(time, 0.9), 150, 1e-6);
  EXPECT_NEAR(time_within(time, 0.1), 80, 1e-6);
  EXPECT_NEAR(time_within(time, 0.5), 100, 1e-6);
  for (const double p : {0.05, 0.3, 0.7, 0.99}) EXPECT_NEAR(chance_within(time, time_within(time, p)), p, 1e-9);
}

TEST(PlayTest, WithoutChanceEveryScenarioIsTheSame) {
  const Outlook outlook = play(one_task(5000, 5000, 5000, 4000), {}, {.scenarios = 5});
  // Two periods, 1000 s late at a dollar.
  EXPECT_DOUBLE_EQ(outlook.total_usd.mean, 1002);
  EXPECT_DOUBLE_EQ(outlook.total_usd.low, outlook.total_usd.high);
  EXPECT_DOUBLE_EQ(outlook.machines_usd.mean, 2);
  EXPECT_NEAR(outlook.bound_usd, 1002, 1e-6);
  EXPECT_EQ(outlook.met[0], 0);
  EXPECT_EQ(outlook.unfinished, 0U);
  EXPECT_EQ(outlook.machines[0][0].mean, 1);
  EXPECT_EQ(outlook.machines[2][0].mean, 0);
}

TEST(PlayTest, DeadlinesAreKeptAsOftenAsPredicted) {
  const Problem problem = one_task(5000, 4000, 7000, 6000);
  const Outlook outlook = play(problem, {}, {.scenarios = 2000, .rounds = 1, .bound_rounds = 0});
  EXPECT_NEAR(outlook.met[0], chance_within(problem.tasks[0].modes[0].likely_s, 6000), 0.03);
}

TEST(PlayTest, TasksComeAsOftenAsForecast) {
  Problem problem = one_task(1800, 1800, 1800, 1e6);
  problem.nodes = 3;
  Forecast forecast{problem.tasks[0], 2, 3600, 5 * 3600};
  forecast.task.due_s = 7200;
  const PlayOptions options{.scenarios = 200, .seed = 7, .rounds = 20, .bound_rounds = 60};
  const Outlook outlook = play(problem, {forecast}, options);
  EXPECT_NEAR(outlook.forecast_tasks[0], 8, 0.6);
  EXPECT_LE(outlook.bound_usd, outlook.total_usd.mean);
  EXPECT_GE(outlook.total_usd.high, outlook.total_usd.low);
  EXPECT_EQ(outlook.unfinished, 0U);
  EXPECT_EQ(outlook.total_usd.mean, play(problem, {forecast}, options).total_usd.mean);
}

TEST(PlayTest, CountsBudgets) {
  Problem problem = one_task(5000, 4000, 9000, 1e6);
  problem.budgets = {{"budget_usd", problem.tariff, 2}};
  const Outlook outlook = play(problem, {}, {.scenarios = 500, .rounds = 1, .bound_rounds = 0});
  // Kept as long as it ends within two periods.
  EXPECT_NEAR(outlook.budgets_kept[0], chance_within(problem.tasks[0].modes[0].likely_s, 7200), 0.06);
}

}  // namespace
}  // namespace orrery::plan::horizon
