#include "plan/job_times.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"
#include "plan/job_list.h"
#include "predict/analytic/analytic.h"
#include "workload/zoo/zoo.h"

namespace orrery::plan {
namespace {

TEST(JobListTest, ReadsJobsAndNamesMistakes) {
  const auto jobs =
      read_job_list("jobs:\n- {file: a.yaml, submit: 90s, late_usd_per_h: 3, copies: 2}\n- file: b\n", "l");
  ASSERT_TRUE(jobs) << jobs.error().to_string();
  ASSERT_EQ(jobs->jobs.size(), 2U);
  EXPECT_EQ(jobs->jobs[0].submit, Seconds(90));
  EXPECT_EQ(jobs->jobs[0].copies, 2);
  EXPECT_EQ(jobs->jobs[1].late_usd_per_h, kLateUsdPerH);
  EXPECT_EQ(jobs->jobs[1].line, 3U);
  const auto error = [](const char* yaml) { return read_job_list(yaml, "l").error().to_string(); };
  EXPECT_EQ(error("jobs: [{file: a, submit: soon}]").substr(0, 27), "l:1: jobs[0].submit: \"soon\"");
  EXPECT_NE(error("jobs: [{submit: 1s}]").find("jobs[0].file: missing"), std::string::npos);
  EXPECT_NE(error("jobs: [{file: a, late_usd_per_h: -1}]").find("late_usd_per_h"), std::string::npos);
  EXPECT_NE(error("jobs: []").find("jobs: missing"), std::string::npos);
  EXPECT_NE(error("jobs: [{file: a, copis: 3}]").find("did you mean \"copies\"?"), std::string::npos);
  EXPECT_NE(error("jobs: [{file: a, copies: 9999}, {file: b, copies: 2}]").find("more than 10000 jobs"),
            std::string::npos);
}

hardware::Offer offer(const char* device, int count, double usd_h, const char* instance) {
  hardware::Offer one;
  one.provider = "acme";
  one.instance = instance;
  one.device = device;
  one.device_count = count;
  one.price = DollarsPerHour(usd_h);
  return one;
}

TEST(JobTimesTest, TheCheapestOfferOfEachShapeIsRented) {
  std::vector<hardware::Offer> offers = {offer("V100", 1, 3, "dear"), offer("V100", 1, 2, "cheap"),
                                         offer("V100", 4, 9, "four"), offer("", 1, 1, "unknown"),
                                         offer("T4", 32, 1, "large")};
  const auto types = vm_types_of(offers, false);
  ASSERT_TRUE(types);
  ASSERT_EQ(types->size(), 2U);
  EXPECT_EQ((*types)[0].name, "acme cheap");
  EXPECT_EQ((*types)[1].gpus, 4);
  EXPECT_EQ(vm_types_of(offers, true).error().code(), ErrorCode::kInfeasible);
}

class PredictedJobTest : public testing::Test {
 protected:
  Result<std::vector<PredictedConfiguration>> configurations(const workload::JobSpec& spec, int machines_max) {
    return predicted_configurations(spec, workload::build_model("resnet18").value(),
                                    {.precision = Precision::kFp32, .steps = 1}, 32, types_, machines_max, predictor_);
  }
  Result<Job> predicted(const workload::JobSpec& spec) {
    ORRERY_TRY(const auto all, configurations(spec, 1));
    return job_of(all);
  }
  predict::AnalyticPredictor predictor_;
  std::vector<VmType> types_ = {{"v", "V100", 4, 8}, {"t", "T4", 1, 0.5}};
};

TEST_F(PredictedJobTest, RunsOnlyWhereItsOwnerAllows) {
  workload::JobSpec spec;
  spec.name = "j";
  spec.batch = 64;
  spec.resources = {{"V100", {2, 4}}};
  const auto job = predicted(spec);
  ASSERT_TRUE(job) << job.error().to_string();
  // 64 samples do not divide among three.
  EXPECT_FALSE(time_s(*job, types_[0], 1));
  EXPECT_TRUE(time_s(*job, types_[0], 2));
  EXPECT_FALSE(time_s(*job, types_[0], 3));
  EXPECT_TRUE(time_s(*job, types_[0], 4));
  EXPECT_FALSE(time_s(*job, types_[1], 1));
}

TEST_F(PredictedJobTest, TakesWholeMachinesWhenOneIsTooSmall) {
  workload::JobSpec spec;
  spec.name = "j";
  spec.batch = 64;
  spec.resources = {{"V100", {8, 16}}};
  EXPECT_EQ(configurations(spec, 1).error().to_string(),
            "j: no machine that is offered has 8 to 16 V100 in one; jobs on several machines need --horizon and "
            "--nodes above 1");
  const auto all = configurations(spec, 3);
  ASSERT_TRUE(all) << all.error().to_string();
  // 64 samples do not divide among 12.
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ((*all)[0].gpus, 4);
  EXPECT_EQ((*all)[0].machines, 2);
  EXPECT_LE((*all)[0].time_s.low, (*all)[0].time_s.value);
  EXPECT_GE((*all)[0].time_s.high, (*all)[0].time_s.value);
}

TEST_F(PredictedJobTest, SaysWhatIsInTheWayAndByHowMuch) {
  workload::JobSpec spec;
  spec.name = "j";
  spec.resources = {{"A100", {1, 2}}, {"V100", {8, 8}}};
  EXPECT_EQ(predicted(spec).error().to_string(),
            "j: no machine that is offered has 1 to 2 A100 or 8 V100 in one; jobs on several machines need --horizon "
            "and --nodes above 1");
  spec.resources = {{}};
  spec.batch = 1 << 20;
  EXPECT_NE(predicted(spec).error().to_string().find("does not fit into the memory of any device"), std::string::npos);
}

TEST(AloneBoundTest, MixesAFastAndACheapMachine) {
  const std::vector<VmType> types = {{"fast", "F", 1, 7.2}, {"slow", "S", 1, 1.8}};
  // 100 s at 0.002 $/s or 300 s at 0.0005 $/s; due after 200 s: half of the work on each.
  const Job job{.id = "j", .due_s = 200, .weight_usd_s = 1, .times_s = {{"F", {100}}, {"S", {300}}}};
  EXPECT_NEAR(alone_bound_usd(types, std::vector{job}), 0.5 * 0.2 + 0.5 * 0.15, 1e-12);
  Job late = job;
  late.due_s = 50;
  late.weight_usd_s = 0.01;
  EXPECT_NEAR(alone_bound_usd(types, std::vector{late}), 0.2 + 50 * 0.01, 1e-12);
  // Against a fine grid of shares.
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    Job one = job;
    one.due_s = random.uniform(10, 500);
    one.weight_usd_s = random.uniform(0, 0.01);
    double least = 1e9;
    for (double f = 0; f <= 1.00001; f += 0.001) {
      const double time = f * 100 + (1 - f) * 300;
      least = std::min(least, f * 0.2 + (1 - f) * 0.15 + one.weight_usd_s * std::max(0.0, time - one.due_s));
    }
    const double bound = alone_bound_usd(types, std::vector{one});
    EXPECT_LE(bound, least + 1e-12);
    EXPECT_NEAR(bound, least, 2.1e-3);
  }
}

}  // namespace
}  // namespace orrery::plan
