#include "plan/dispatch.h"

#include <gtest/gtest.h>

#include "plan/checker.h"
#include "plan/order_search.h"
#include "plan/test_instance.h"

namespace orrery::plan {
namespace {

// One machine of two GPUs at 3.6 $/h (0.001 $/s); two jobs of 100 s on one GPU, 60 s on both.
Instance two_jobs() {
  Instance instance;
  instance.nodes = 1;
  instance.vm_types = {{"two", "K80", 2, 3.6}};
  for (const char* id : {"a", "b"})
    instance.jobs.push_back({.id = id, .due_s = 80, .weight_usd_s = 0.01, .times_s = {{"K80", {100, 60}}}});
  return instance;
}

TEST(DispatchTest, ForecastAddsUpByHand) {
  const Instance instance = two_jobs();
  // Beside each other: 100 s of rental, both 20 s late.
  const Forecast beside = forecast(instance, {{{0, {{0, 1}, {1, 1}}}}}, {DispatchOrder::kDue, 0});
  EXPECT_NEAR(beside.rental_usd, 0.1, 1e-12);
  EXPECT_NEAR(beside.tardiness_usd, 2 * 20 * 0.01, 1e-12);
  // One after the other on both GPUs: 60 s, then another 60 s, 40 s late.
  const Forecast after = forecast(instance, {{{0, {{0, 2}}}}}, {DispatchOrder::kDue, 0});
  EXPECT_NEAR(after.rental_usd, 0.12, 1e-12);
  EXPECT_NEAR(after.tardiness_usd, 40 * 0.01, 1e-12);
  EXPECT_EQ(after.end_s, 120);
}

TEST(DispatchTest, PlacingAnewGivesWhatIsLeftMoreGpus) {
  Instance instance = two_jobs();
  instance.jobs[1].times_s["K80"] = {200, 120};
  const Plan beside{{{0, {{0, 1}, {1, 1}}}}};
  // a ends at 100 s; b has half of its work left: 100 s on its GPU, 60 s on both.
  EXPECT_NEAR(forecast(instance, beside, {DispatchOrder::kDue, 0}).end_s, 200, 1e-9);
  DispatchRule anew{DispatchOrder::kDue, 0};
  anew.anew = true;
  const Forecast wider = forecast(instance, beside, anew);
  EXPECT_NEAR(wider.end_s, 160, 1e-9);
  EXPECT_NEAR(wider.rental_usd, 0.16, 1e-12);
  EXPECT_NEAR(wider.tardiness_usd, (20 + 80) * 0.01, 1e-12);
  // Being resized takes 30 s: still worth it, and counted.
  instance.jobs[1].switch_s = 30;
  instance.jobs[1].held = {0, 1};
  EXPECT_NEAR(forecast(instance, beside, anew).end_s, 190, 1e-9);
}

TEST(DispatchTest, ModestJobsTakeFewerGpus) {
  const Instance instance = two_jobs();
  const std::vector<double> keys = {0, 1}, modest = {50, 1};
  EXPECT_EQ(dispatch_plan(instance, {}, {DispatchOrder::kListed, 0.1, keys}).nodes[0].jobs.size(), 1U);
  EXPECT_EQ(dispatch_plan(instance, {}, {DispatchOrder::kListed, 0.1, keys, modest}).nodes[0].jobs.size(), 2U);
}

TEST(DispatchTest, CrowdingLeavesGpusToOthers) {
  const Instance instance = two_jobs();
  // Alone it wants both GPUs: 0.06 $ against 0.1 $ and 0.2 $ of tardiness. The other job's weight changes that if a
  // place of two GPUs is worth more than it saves.
  EXPECT_EQ(dispatch_plan(instance, {}, {DispatchOrder::kDue, 0}).nodes[0].jobs.size(), 1U);
  Instance flat = instance;
  for (Job& job : flat.jobs) job.times_s["K80"] = {100, 95};
  EXPECT_EQ(dispatch_plan(flat, {}, {DispatchOrder::kDue, 1}).nodes[0].jobs.size(), 2U);
}

TEST(DispatchTest, OrdersDiffer) {
  Instance instance = two_jobs();
  instance.jobs[1].weight_usd_s = 1;
  instance.jobs[0].due_s = 10;
  EXPECT_EQ(dispatch_plan(instance, {}, {DispatchOrder::kDue, 0}).nodes[0].jobs[0].job, 0U);
  EXPECT_EQ(dispatch_plan(instance, {}, {DispatchOrder::kWeight, 0}).nodes[0].jobs[0].job, 1U);
  EXPECT_EQ(dispatch_plan(instance, {}, {DispatchOrder::kUrgency, 0}).nodes[0].jobs[0].job, 1U);
}

TEST(DispatchTest, PlansKeepTheLimitsAndWhatRuns) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Instance instance = synthetic(seed, {.nodes = 3, .jobs = 8});
    const Plan first = dispatch_plan(instance, {}, dispatch_rules()[0]);
    ASSERT_TRUE(check_plan(instance, Objective::kWait, first));
    for (const DispatchRule& rule : dispatch_rules()) {
      const Plan more = dispatch_plan(instance, {{first.nodes[0]}}, rule);
      ASSERT_TRUE(check_plan(instance, Objective::kWait, more));
      ASSERT_EQ(more.nodes[0].vm, first.nodes[0].vm);
      for (std::size_t i = 0; i < first.nodes[0].jobs.size(); ++i)
        ASSERT_EQ(more.nodes[0].jobs[i], first.nodes[0].jobs[i]);
      const Forecast until_end = forecast(instance, more, rule);
      ASSERT_GT(until_end.rental_usd, 0);
      ASSERT_LE(best_forecast(instance, more, dispatch_rules()).score(), until_end.score());
    }
  }
}

TEST(OrderSearchTest, IsNeverWorseThanTheRulesAndNearTheBestOfAllOrders) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Instance instance = synthetic(seed, {.nodes = 1, .jobs = 5, .gpus_max = 1});
    const OrderSearch found = search_order(instance, {}, {}, 300, seed);
    for (const DispatchRule& rule : dispatch_rules())
      EXPECT_LE(found.best.forecast.score(), dispatch(instance, {}, rule).forecast.score());
    EXPECT_DOUBLE_EQ(dispatch(instance, {}, found.rule()).forecast.score(), found.best.forecast.score());
    // Brute force over all orders, with the same crowding.
    std::vector<double> keys = {0, 1, 2, 3, 4};
    double least = found.best.forecast.score();
    do {
      const DispatchRule listed{DispatchOrder::kListed, found.list.crowding, keys};
      least = std::min(least, dispatch(instance, {}, listed).forecast.score());
    } while (std::next_permutation(keys.begin(), keys.end()));
    EXPECT_LE(found.best.forecast.score(), least * 1.05) << seed;
  }
}

}  // namespace
}  // namespace orrery::plan
