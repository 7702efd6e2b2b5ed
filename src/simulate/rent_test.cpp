#include "simulate/rent.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "env/sim_env.h"
#include "plan/dispatch.h"
#include "plan/milp_policy.h"
#include "plan/rent_policies.h"

namespace orrery::simulate {
namespace {

using plan::Job;
using plan::Market;
using plan::RentOrder;

Market one_node() {
  return {1, {{"one", "K80", 1, 3.6}, {"two", "K80", 2, 7.2}}};
}

Job job(std::string id, double submit_s, double due_s, double weight, std::vector<double> times) {
  return {std::move(id), submit_s, due_s, weight, {{"K80", std::move(times)}}};
}

Result<RentRun> by_rule(const Market& market, const RentJobs& jobs, RentOrder order) {
  return simulate_rent(market, jobs, [order](const Market& m, const plan::MarketJobs& j) {
    return plan::make_rent_policy(order, m, j);
  });
}

class RentTest : public testing::Test {
 protected:
  Result<RentRun> by_plan(const Market& market, const RentJobs& jobs, double switch_s = 0) {
    plan::MilpPolicyOptions options;
    options.planner.heuristic_only = true;
    return simulate_rent(market, jobs,
                         [&, options](const Market& m, const plan::MarketJobs& j) {
                           return plan::make_milp_policy(options, m, j, sim_.env());
                         },
                         {.resume_ns = schedule::from_seconds(switch_s), .move_ns = schedule::from_seconds(switch_s)});
  }
  env::SimEnv sim_;
};

TEST_F(RentTest, BillsAddUpByHand) {
  // a takes the cheap machine until 100; b is late whatever it does, so it takes the fast one, 100 to 160.
  const plan::MarketJobs jobs = {job("a", 0, 100, 0.01, {100, 60}), job("b", 10, 80, 0.02, {100, 60})};
  const auto run = by_rule(one_node(), {jobs, jobs}, RentOrder::kFifo);
  ASSERT_TRUE(run) << run.error().to_string();
  EXPECT_NEAR(run->bill.rental_usd, 100 * 0.001 + 60 * 0.002, 1e-9);
  EXPECT_NEAR(run->bill.tardiness_usd, 80 * 0.02, 1e-9);
  EXPECT_NEAR(run->bill.idle_usd, 0, 1e-12);
  EXPECT_EQ(run->bill.late, 1);
  EXPECT_EQ(run->bill.nodes_most, 1);
}

TEST_F(RentTest, RulesDifferInTheirOrder) {
  // The first takes the machine until 100; of the other two the one due first, or the one that weighs more, is next.
  const plan::MarketJobs jobs = {job("a", 0, 100, 0.01, {100}), job("b", 1, 900, 0.02, {50}),
                                 job("c", 2, 800, 0.01, {50})};
  EXPECT_LT(by_rule(one_node(), {jobs, jobs}, RentOrder::kFifo)->run.jobs[JobIndex(1)].end_ns,
            by_rule(one_node(), {jobs, jobs}, RentOrder::kDue)->run.jobs[JobIndex(1)].end_ns);
  EXPECT_LT(by_rule(one_node(), {jobs, jobs}, RentOrder::kWeight)->run.jobs[JobIndex(1)].end_ns,
            by_rule(one_node(), {jobs, jobs}, RentOrder::kDue)->run.jobs[JobIndex(1)].end_ns);
}

TEST_F(RentTest, PlansPreemptAndShare) {
  // A long job that can wait, and a short one that cannot.
  const plan::MarketJobs jobs = {job("long", 0, 9000, 0.001, {1000}), job("short", 10, 120, 1, {100})};
  const auto planned = by_plan(one_node(), {jobs, jobs});
  ASSERT_TRUE(planned) << planned.error().to_string();
  EXPECT_EQ(planned->bill.late, 0);
  EXPECT_LT(planned->bill.total_usd(), by_rule(one_node(), {jobs, jobs}, RentOrder::kFifo)->bill.total_usd());
}

TEST_F(RentTest, NoJobIsMovedWhereMovingCostsMoreThanItSaves) {
  // The first ends at 1000; the second is urgent, but stopping the first for it would cost a day.
  plan::MarketJobs jobs = {job("long", 0, 1100, 0.01, {1000}), job("short", 10, 120, 0.01, {100})};
  for (Job& one : jobs) one.switch_s = 86'400;
  const auto stays = by_plan(one_node(), {jobs, jobs}, jobs.front().switch_s);
  ASSERT_TRUE(stays) << stays.error().to_string();
  EXPECT_EQ(stays->run.jobs[JobIndex(0)].starts, 1);
  for (Job& one : jobs) one.switch_s = 0;
  EXPECT_GT(by_plan(one_node(), {jobs, jobs})->run.jobs[JobIndex(0)].starts, 1);
}

TEST_F(RentTest, PlansCostNoMoreThanRulesWhenAllIsKnown) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Random random(seed);
    plan::MarketJobs jobs;
    for (int i = 0; i < 6; ++i) {
      const double work = random.uniform(100, 1000);
      jobs.push_back(
          job("j" + std::to_string(i), 0, random.uniform(100, 2000), random.uniform(0.001, 0.01), {work, work * 0.6}));
    }
    Market market = one_node();
    market.nodes = 2;
    const auto planned = by_plan(market, {jobs, jobs});
    ASSERT_TRUE(planned) << planned.error().to_string();
    for (const RentOrder order : {RentOrder::kFifo, RentOrder::kDue, RentOrder::kWeight})
      EXPECT_LE(planned->bill.total_usd(), by_rule(market, {jobs, jobs}, order)->bill.total_usd() * 1.02) << seed;
  }
}

TEST_F(RentTest, RealTimesMayDiffer) {
  const plan::MarketJobs believed = {job("a", 0, 100, 0.01, {100, 60})};
  plan::MarketJobs real = believed;
  for (double& time : real.front().times_s["K80"]) time *= 2;
  const auto run = by_rule(one_node(), {believed, real}, RentOrder::kFifo);
  EXPECT_NEAR(run->bill.rental_usd, 0.2, 1e-9);
  EXPECT_NEAR(run->bill.tardiness_usd, 1, 1e-9);
}

TEST_F(RentTest, AJobThatCannotRunIsNamed) {
  plan::MarketJobs jobs = {job("a", 0, 100, 0.01, {100})};
  jobs.front().times_s = {{"V100", {10}}};
  EXPECT_EQ(by_rule(one_node(), {jobs, jobs}, RentOrder::kFifo).error().to_string(), "job a cannot run on any VM type");
}

TEST(RentBillTest, TooManyOpenMachinesAreNoticed) {
  Market market = one_node();
  RunResult run;
  run.holdings = {{JobIndex(0), MachineIndex(0), 1, 0, 100}, {JobIndex(1), MachineIndex(1), 1, 50, 120}};
  EXPECT_FALSE(rent_bill(market, {}, run));
  run.holdings[1].from_ns = 100;
  EXPECT_TRUE(rent_bill(market, {}, run));
}

}  // namespace
}  // namespace orrery::simulate
