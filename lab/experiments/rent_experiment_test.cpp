#include "lab/experiments/rent_experiment.h"

#include <gtest/gtest.h>

#include "env/sim_env.h"
#include "lab/lab.h"
#include "predict/analytic/analytic.h"

namespace orrery::lab {
namespace {

TEST(PublishedJobsTest, PoissonHasItsMeanAndVariance) {
  for (const double mean : {3.0, 30.0, 1200.0}) {
    Random random(1);
    constexpr int kDraws = 4000;
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const auto draw = static_cast<double>(poisson(random, mean));
      sum += draw;
      squares += draw * draw;
    }
    const double found = sum / kDraws;
    EXPECT_NEAR(found, mean, 4 * std::sqrt(mean / kDraws));
    EXPECT_NEAR(squares / kDraws - found * found, mean, 0.12 * mean);
  }
}

class RentExperimentTest : public testing::Test {
 protected:
  env::SimEnv sim_;
  predict::AnalyticPredictor predictor_;
};

TEST_F(RentExperimentTest, JobsAreAsPublished) {
  const plan::Market market = published_market(5, true);
  ASSERT_EQ(market.vm_types.size(), 9U);
  const auto times = predicted_times(market, predictor_);
  ASSERT_TRUE(times) << times.error().to_string();
  // 2 GB of memory hold no training of VGG-19 with 32 images.
  EXPECT_FALSE((*times)[1].sample_s.contains("P600"));
  EXPECT_EQ((*times)[1].sample_s.at("K80").size(), 4U);
  const auto jobs = published_jobs(market, *times, {.jobs = 50, .gap_s = 30, .seed = 3});
  double before = 0;
  for (const plan::Job& job : jobs) {
    const double shortest = plan::shortest_s(market, job);
    EXPECT_GE(job.submit_s, before);
    EXPECT_GE(job.due_s, job.submit_s + shortest);
    EXPECT_LE(job.due_s, job.submit_s + 3 * shortest);
    EXPECT_GE(job.weight_usd_s, 0.003);
    EXPECT_LE(job.weight_usd_s, 0.015);
    before = job.submit_s;
  }
  EXPECT_EQ(jobs.back().times_s, published_jobs(market, *times, {.jobs = 50, .gap_s = 30, .seed = 3}).back().times_s);
}

TEST_F(RentExperimentTest, PlansSaveUnderLoadAndCostNoMoreWhenIdle) {
  LoopOptions options;
  options.nodes = {2};
  options.gaps_s = {30, 20'000};
  options.instances = 1;
  options.jobs_per_node = 4;
  options.milp.planner.heuristic_only = true;
  options.milp.tries = 50;
  const auto times = predicted_times(published_market(2, false), predictor_);
  ASSERT_TRUE(times) << times.error().to_string();
  const auto rows = loop_experiment(options, *times, sim_.env(), [] {});
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 8U);
  for (int load = 0; load < 2; ++load) {
    const LoopRow* of = &(*rows)[static_cast<std::size_t>(load) * 4];
    EXPECT_EQ(of[3].policy, "milp");
    for (int i = 0; i < 3; ++i)
      EXPECT_LE(of[3].bill.total_usd(), of[i].bill.total_usd() * (load == 0 ? 1 : 1.02)) << of[i].policy;
  }
}

TEST_F(RentExperimentTest, RealCostsAreNearPredictedOnes) {
  PrototypeOptions options;
  options.jobs = 6;
  options.seeds = 2;
  options.milp.planner.heuristic_only = true;
  options.milp.tries = 20;
  const auto rows = prototype_experiment(options, predictor_, sim_.env(), [] {});
  ASSERT_TRUE(rows) << rows.error().to_string();
  ASSERT_EQ(rows->size(), 2U);
  for (const PrototypeRow& row : *rows) {
    EXPECT_NE(row.difference(), 0);
    EXPECT_LT(std::fabs(row.difference()), 0.2);
  }
}

}  // namespace
}  // namespace orrery::lab
