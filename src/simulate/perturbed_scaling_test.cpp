// Predictions that are wrong by a known amount, and equal shares of elastic jobs.

#include "simulate/perturbed_scaling.h"

#include <cmath>

#include "simulate/run_test.h"

namespace orrery::simulate {
namespace {

constexpr JobIndex kFirst(0);

class StillView : public schedule::ClusterView {
 public:
  explicit StillView(const JobTrace& job_trace) {
    for (const TraceJob& job : job_trace.jobs) {
      facts_.push_back(job.facts);
      progress_.push_back({});
    }
  }
  void set_done(JobIndex job, TimeNs done_ns) { progress_[job].done_ns = done_ns; }
};

TEST(PerturbedScaling, EverySpeedIsOffByTheErrorOneWayOrTheOther) {
  const JobTrace job_trace = job_trace_of({job_of(0, 100, 1), job_of(0, 100, 2)});
  const StillView view(job_trace);
  const CurveSpeed speed{CurveOptions{}};
  const CurveScaling truth(view, speed);
  const PerturbedScaling erred(view, truth, {.speed = 0.2}, 7), again(view, truth, {.speed = 0.2}, 7);
  int faster = 0, slower = 0;
  for (int gpus = 1; gpus <= 40; ++gpus) {
    const double ratio = truth.step_s(kFirst, gpus) / erred.step_s(kFirst, gpus);
    EXPECT_NEAR(std::abs(ratio - 1), 0.2, 1e-12);
    EXPECT_EQ(erred.step_s(kFirst, gpus), again.step_s(kFirst, gpus));
    (ratio > 1 ? faster : slower)++;
  }
  EXPECT_GT(faster, 8);
  EXPECT_GT(slower, 8);
  EXPECT_EQ(erred.steps_left(kFirst), truth.steps_left(kFirst));
}

TEST(PerturbedScaling, TheEndIsKnownBetterTheNearerItIs) {
  const JobTrace job_trace = job_trace_of({job_of(0, 1000, 1)});
  StillView view(job_trace);
  const CurveSpeed speed{CurveOptions{}};
  const CurveScaling truth(view, speed);
  const PerturbedScaling erred(view, truth, {.convergence = 0.4}, 3);
  EXPECT_NEAR(std::abs(erred.steps_left(kFirst) / truth.steps_left(kFirst) - 1), 0.4, 1e-12);
  view.set_done(kFirst, schedule::from_seconds(750));
  EXPECT_NEAR(std::abs(erred.steps_left(kFirst) / truth.steps_left(kFirst) - 1), 0.1, 1e-12);
  EXPECT_EQ(erred.step_s(kFirst, 3), truth.step_s(kFirst, 3));
}

// Synchronous training is fastest where 0.97 / k^2 = growth.
TEST(CurveSpeed, GrowthMakesManyGpusSlower) {
  const CurveSpeed speed{CurveOptions{.growth = 0.01}};
  EXPECT_NEAR(speed.step_share(1), 1, 1e-12);
  EXPECT_LT(speed.step_share(10), speed.step_share(9));
  EXPECT_GT(speed.step_share(11), speed.step_share(10));
  EXPECT_NEAR(speed.ps_speed().step_s(5, 5), speed.step_share(5), 1e-12);
}

// Eight GPUs: the long job can use four of them, and the short one would gain less from a fifth than from its four, so
// both have four although Optimus would give the long one more.
TEST(EqualShare, GivesEveryJobTheSame) {
  RunSetup setup = setup_of(1, 8);
  setup.engine.keep_log = true;
  setup.elastic = 8;
  const RunResult result = run(job_trace_of({job_of(0, 90'000, 1), job_of(0, 9'000, 1)}), setup, "equal-share");
  ASSERT_GE(result.log.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(schedule::gpus_in(result.log[i].decision.allocation), 4);
    EXPECT_EQ(to_string(result.log[i].decision.reason), "4 GPUs are its equal share");
  }
}

}  // namespace
}  // namespace orrery::simulate
