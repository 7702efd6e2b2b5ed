#include "schedule/predicted_scaling.h"

#include <cmath>
#include <gtest/gtest.h>

#include "schedule/cluster_ledger.h"

namespace orrery::schedule {
namespace {

SharedCurve halves() {
  return std::make_shared<const StepCurve>(std::map<int, double>{{1, 8}, {4, 2}, {8, 1.5}});
}

TEST(StepCurve, IsLinearInLogarithmsBetweenWhatIsKnown) {
  const StepCurve curve({{2, 4}, {8, 1}, {16, 2}});
  EXPECT_DOUBLE_EQ(curve.step_s(2), 4);
  EXPECT_DOUBLE_EQ(curve.step_s(4), 2);   // half of the way from 2 to 8, and from 4 to 1
  EXPECT_DOUBLE_EQ(curve.step_s(1), 8);   // one GPU does the work of two
  EXPECT_DOUBLE_EQ(curve.step_s(64), 2);  // as on 16
  EXPECT_EQ(curve.most(), 8);
}

class Scaling : public ::testing::Test {
 protected:
  JobIndex add(int asked, SharedCurve curve) {
    const JobIndex job = ledger.add({.work_ns = 100 * kSecondNs, .gpus = asked, .gpus_max = 16});
    ledger.admit(job);
    curves.push_back(std::move(curve));
    return job;
  }
  void run(JobIndex job, int gpus, double rate) {
    ledger.start(job, {{MachineIndex(0), gpus}}, rate, 0);
    ledger.advance_to(ledger.now() + kSecondNs);
  }

  ClusterLedger ledger{{{.gpus = 64}}};
  IndexedVector<JobIndex, SharedCurve> curves;
  PredictedScaling scaling{ledger, curves};
};

TEST_F(Scaling, IsThatOfTheCurveOfTheGpusAskedFor) {
  const JobIndex job = add(4, halves());
  EXPECT_DOUBLE_EQ(scaling.step_s(job, 4), 1);
  EXPECT_DOUBLE_EQ(scaling.step_s(job, 1), 4);
  EXPECT_DOUBLE_EQ(scaling.step_s(job, 8), 0.75);
  EXPECT_DOUBLE_EQ(scaling.steps_left(job), 100);
  EXPECT_EQ(scaling.gpus_max(job), 8);
}

TEST_F(Scaling, WhatAJobShowsCorrectsAllJobsOfItsCurve) {
  const SharedCurve curve = halves();
  const JobIndex job = add(4, curve), like_it = add(4, curve), other = add(4, halves());
  run(job, 8, 1 / 0.9);  // 0.9 of a step on 4 GPUs instead of 0.75
  EXPECT_NEAR(scaling.step_s(job, 8), 0.9, 1e-12);
  EXPECT_NEAR(scaling.step_s(like_it, 8), 0.9, 1e-12);
  EXPECT_NEAR(scaling.step_s(like_it, 4), 1, 1e-12);  // by definition
  // Between 4 and 8 in logarithms: the square root of 1.2.
  const double on_6 = interpolated(6, {4, 1.0}, {8, 1.2});
  EXPECT_NEAR(scaling.step_s(like_it, 6), curve->step_s(6) / 2 * on_6, 1e-12);
  EXPECT_NEAR(scaling.step_s(like_it, 16), 0.75 * 1.2, 1e-12);
  EXPECT_NEAR(scaling.step_s(other, 8), 0.75, 1e-12);
}

TEST_F(Scaling, AJobBesideAnotherShowsNothing) {
  const JobIndex host = add(4, halves()), guest = add(8, nullptr);
  run(host, 8, 0.1);
  ledger.share(guest, host, false, 0.1, 0);
  EXPECT_DOUBLE_EQ(scaling.step_s(host, 8), 0.75);
}

TEST_F(Scaling, WithoutACurveMoreGpusThanAskedForDoNotHelp) {
  const JobIndex job = add(4, nullptr);
  EXPECT_DOUBLE_EQ(scaling.step_s(job, 2), 2);
  EXPECT_DOUBLE_EQ(scaling.step_s(job, 4), 1);
  EXPECT_DOUBLE_EQ(scaling.step_s(job, 8), 1);
  run(job, 8, 1.6);  // but this one shows that they do
  EXPECT_DOUBLE_EQ(scaling.step_s(job, 8), 1 / 1.6);
}

TEST_F(Scaling, UnknownWorkIsAsMuchAsWasDone) {
  const JobIndex job = ledger.add({.work_ns = kUnknownWork, .gpus = 1});
  ledger.admit(job);
  EXPECT_DOUBLE_EQ(scaling.steps_left(job), 3600);
  run(job, 1, 1);
  ledger.advance_to(7200 * kSecondNs);
  EXPECT_DOUBLE_EQ(scaling.steps_left(job), 7200);
}

}  // namespace
}  // namespace orrery::schedule
