#include "plan/node_milp.h"

#include <gtest/gtest.h>

#include "plan/cbc.h"
#include "plan/checker.h"
#include "plan/planner.h"
#include "plan/test_instance.h"

namespace orrery::plan {
namespace {

// The cheapest plan of one program; nothing if there is none.
std::optional<Plan> solved(const LinearCosts& costs, env::Env env) {
  const auto program = NodeMilp::make(costs);
  EXPECT_TRUE(program);
  const auto answer = solve_with_cbc(program->milp(), {}, env);
  if (!answer) {
    EXPECT_EQ(answer.error().code(), ErrorCode::kInfeasible) << answer.error().to_string();
    return std::nullopt;
  }
  EXPECT_TRUE(answer->proven);
  const Plan plan = program->plan_of(answer->values);
  EXPECT_NEAR(total_usd(costs, plan), answer->objective + program->constant_usd(), 1e-6);
  return plan;
}

TEST(NodeMilpTest, AgreesWithTheProgramThatDoesNotKnowNodes) {
  const env::Env env = env::make_real_env();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Instance instance = synthetic(seed, {.nodes = 3, .jobs = 7, .gpus_max = 4});
    for (const Objective objective : {Objective::kWait, Objective::kRho, Objective::kFirstEnd}) {
      const auto report = make_plan(instance, objective, {}, env);
      ASSERT_TRUE(report) << report.error().to_string();
      if (!report->proven) GTEST_SKIP() << "no solver: " << report->note;
      double least = kNever;
      const auto offer = [&](const LinearCosts& costs) {
        const auto plan = solved(costs, env);
        if (!plan) return;
        ASSERT_TRUE(check_plan(instance, objective, *plan));
        least = std::min(least, static_cast<double>(plan_cost(instance, objective, *plan).total_usd()));
      };
      if (objective == Objective::kFirstEnd)
        for (const double theta : first_end_times(instance)) offer(first_end_costs(instance, theta));
      else
        offer(linear_costs(instance, objective));
      EXPECT_NEAR(least, report->objective_usd, 1e-6 * std::max(1.0, least)) << seed << to_string(objective);
    }
  }
}

TEST(NodeMilpTest, LargeCasesAreRefused) {
  Instance instance = synthetic(1, {.nodes = 3, .jobs = 7});
  instance.nodes = kNodesMax;
  EXPECT_FALSE(NodeMilp::make(linear_costs(instance, Objective::kWait)));
}

}  // namespace
}  // namespace orrery::plan
