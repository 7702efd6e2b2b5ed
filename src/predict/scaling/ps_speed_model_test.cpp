#include "predict/scaling/ps_speed_model.h"

#include <cmath>
#include <gtest/gtest.h>

namespace orrery::predict {
namespace {

// Jobs of one kind of cluster: a formula with coefficients of its own, and what no formula knows, the same for all.
double seconds_of(int job, double servers, double workers) {
  const double formula = 0.1 * job + 0.05 * workers / servers + 0.01 * workers;
  return formula * (workers > 6 ? 1.5 : 1);  // a second rack
}

std::vector<PsSample> runs_of(int job) {
  std::vector<PsSample> runs;
  for (double servers = 1; servers <= 8; ++servers) {
    for (double workers = 1; workers <= 10; ++workers) {
      runs.push_back({servers, workers, 1 / seconds_of(job, servers, workers)});
    }
  }
  return runs;
}

std::vector<PsSample> every(const std::vector<PsSample>& runs, std::size_t step) {
  std::vector<PsSample> some;
  for (std::size_t i = 0; i < runs.size(); i += step) some.push_back(runs[i]);
  return some;
}

TEST(PsSpeedModel, LearnsFromOtherJobsWhatTheFormulaMisses) {
  PsSpeedModel model;
  for (int job = 1; job <= 6; ++job) {
    const PsJob known = PsJob::make(every(runs_of(job), 7)).value();
    for (const PsSample& run : runs_of(job)) model.add(known, run);
  }
  ASSERT_TRUE(model.learn(1, 1));
  const PsJob fresh = PsJob::make(every(runs_of(8), 9)).value();
  double ours = 0, formula = 0;
  for (const PsSample& run : runs_of(8)) {
    const double truth = 1 / run.speed;
    ours += std::abs(model.seconds(fresh, run) / truth - 1);
    formula += std::abs(1 / (fresh.formula.speed(run.servers, run.workers) * truth) - 1);
  }
  EXPECT_LT(ours, 0.5 * formula);
}

TEST(PsSpeedModel, AJobNeedsRuns) {
  EXPECT_FALSE(PsJob::make({}));
}

}  // namespace
}  // namespace orrery::predict
