#include "plan/cost.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "plan/checker.h"
#include "plan/linear_costs.h"
#include "plan/partitions.h"

namespace orrery::plan {
namespace {

// One node of 2 GPUs at 0.001 USD/s; A takes 1000 s or 600 s and is due at 500 s, B takes 200 s and is due at 350 s.
Instance two_jobs() {
  Instance instance;
  instance.nodes = 1;
  instance.horizon_s = 100;
  instance.rho = 2;
  instance.kappa = 0.5;
  instance.wait_fraction = 0.25;
  instance.vm_types = {{.name = "two", .gpu = "K80", .gpus = 2, .price_usd_h = 3.6}};
  instance.jobs = {{.id = "A", .due_s = 500, .weight_usd_s = 0.01, .times_s = {{"K80", {1000, 600}}}},
                   {.id = "B", .due_s = 350, .weight_usd_s = 0.02, .times_s = {{"K80", {200}}}}};
  return instance;
}

const Plan kOnlyA{{Node{0, {{0, 1}}}}};

TEST(PlanCost, ByHand) {
  const Instance instance = two_jobs();
  // A: 0.001 · 1/2 · 1000 = 0.5, late by 500 s: 5; one GPU idle for 100 s: 0.05.
  // B under rho: 0.001 · 1/2 · 200 = 0.1, on time even after 100 s; 0.02 · 0.5 · 100 = 1.
  const CostSplit rho = plan_cost(instance, Objective::kRho, kOnlyA);
  EXPECT_NEAR(static_cast<double>(rho.rental_usd), 0.5, 1e-12);
  EXPECT_NEAR(static_cast<double>(rho.idle_usd), 0.05, 1e-12);
  EXPECT_NEAR(static_cast<double>(rho.tardiness_usd), 5, 1e-12);
  EXPECT_NEAR(static_cast<double>(rho.postponed_usd), 1.1, 1e-12);
  // Under wait: W = (600 + 200) / 1, a quarter of it is 200 s, so B would end at 400 s, 50 s late: 1 more.
  EXPECT_NEAR(static_cast<double>(plan_cost(instance, Objective::kWait, kOnlyA).postponed_usd), 2.1, 1e-12);
  // first_end: the node until the horizon 0.1, A late 5, B not late at 100 + 200 s.
  EXPECT_NEAR(static_cast<double>(plan_cost(instance, Objective::kFirstEnd, kOnlyA).total_usd()), 5.1, 1e-12);
}

TEST(PlanCost, TheFirstEndShortensWhatNodesPay) {
  Instance instance = two_jobs();
  instance.horizon_s = 400;
  const Plan both{{Node{0, {{0, 1}, {1, 1}}}}};
  EXPECT_EQ(first_end_s(instance, both), 200);
  EXPECT_NEAR(static_cast<double>(plan_cost(instance, Objective::kFirstEnd, both).rental_usd), 0.2, 1e-12);
  EXPECT_EQ(first_end_times(instance), (std::vector<double>{200, 400}));
}

TEST(PlanCost, TheSumOfPartsIsTheCost) {
  const Instance instance = two_jobs();
  for (const Plan& plan : {Plan{}, kOnlyA, Plan{{Node{0, {{0, 1}, {1, 1}}}}}, Plan{{Node{0, {{0, 2}}}}}})
    for (const Objective objective : {Objective::kWait, Objective::kRho})
      EXPECT_NEAR(total_usd(linear_costs(instance, objective), plan),
                  static_cast<double>(plan_cost(instance, objective, plan).total_usd()), 1e-12);
}

TEST(PlanChecker, AgreesByHand) {
  EXPECT_EQ(check_plan(two_jobs(), Objective::kRho, kOnlyA).value(), 6'650'000'000);
  EXPECT_EQ(check_plan(two_jobs(), Objective::kWait, kOnlyA).value(), 7'650'000'000);
  EXPECT_EQ(check_plan(two_jobs(), Objective::kFirstEnd, kOnlyA).value(), 5'100'000'000);
  EXPECT_TRUE(check_claim(two_jobs(), Objective::kRho, kOnlyA, 6.65L));
  EXPECT_EQ(check_claim(two_jobs(), Objective::kRho, kOnlyA, 6.651L).error().code(), ErrorCode::kInternal);
}

TEST(PlanChecker, NamesTheBrokenRule) {
  Instance instance = two_jobs();
  const auto says = [&](const Plan& plan, Objective objective = Objective::kRho) {
    const auto checked = check_plan(instance, objective, plan);
    return checked ? std::string("fine") : checked.error().to_string();
  };
  EXPECT_EQ(says({{Node{0, {{0, 2}, {1, 1}}}}}), "a node of type two has 2 GPUs; 3 are given away");
  EXPECT_EQ(says({{Node{0, {{0, 1}}}, Node{0, {{1, 1}}}}}), "2 nodes are open; at most 1 may be");
  EXPECT_EQ(says({{Node{0, {{0, 1}, {0, 1}}}}}), "job A runs twice");
  EXPECT_EQ(says({{Node{0, {{1, 2}}}}}), "job B has no time on 2 GPUs of type K80");
  EXPECT_EQ(says({{Node{3, {{1, 2}}}}}), "there is no VM type 3");
  EXPECT_EQ(says({}, Objective::kFirstEnd), "0 jobs run; at least 1 must");
  instance.nodes = 2;
  instance.vm_types[0].nodes_max = 1;
  EXPECT_EQ(says({{Node{0, {{0, 1}}}, Node{0, {{1, 1}}}}}), "more than 1 nodes of type two are open");
}

TEST(PlanPartitions, AreAsManyAsNumberTheoryHas) {
  const std::pair<int, std::size_t> known[] = {{1, 1}, {2, 2}, {4, 5}, {8, 22}, {16, 231}};
  for (const auto& [gpus, count] : known) {
    const auto all = partitions(gpus);
    EXPECT_EQ(all.size(), count);
    for (const Partition& parts : all) {
      int sum = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) sum += parts[i] * static_cast<int>(i + 1);
      EXPECT_EQ(sum, gpus);
    }
  }
}

TEST(PlanPartitions, TheBestCutIsWorthMostOfAll) {
  Random random(1);
  for (int gpus = 1; gpus <= 10; ++gpus) {
    std::vector<double> prices;
    for (int i = 0; i < gpus; ++i) prices.push_back(random.uniform(0, 1 + i));
    const auto worth = [&](const Partition& parts) {
      double sum = 0;
      for (std::size_t i = 0; i < parts.size(); ++i) sum += parts[i] * prices[i];
      return sum;
    };
    double most = 0;
    for (const Partition& parts : partitions(gpus)) most = std::max(most, worth(parts));
    const BestCut best = best_cut(prices);
    EXPECT_NEAR(best.worth, most, 1e-12);
    EXPECT_NEAR(worth(best.parts), most, 1e-12);
  }
}

}  // namespace
}  // namespace orrery::plan
