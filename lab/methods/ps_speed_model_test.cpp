#include "lab/methods/ps_speed_model.h"

#include <cmath>
#include <gtest/gtest.h>
#include <set>

#include "lab/lab.h"

namespace orrery::lab {
namespace {

// Jobs of one kind of cluster: a formula with coefficients of its own, and an effect outside the formula, the same for
// all.
double seconds_of(int job, double servers, double workers) {
  const double formula = 0.1 * job + 0.05 * workers / servers + 0.01 * workers;
  const double from_four = std::log(workers / 4);
  return formula * (1 + 0.8 * std::exp(-from_four * from_four / 0.3));  // something between machines that four share
}

std::vector<PsRun> runs_of(int job) {
  std::vector<PsRun> runs;
  for (double servers = 1; servers <= 8; ++servers) {
    for (double workers = 1; workers <= 10; ++workers) {
      runs.push_back({std::to_string(job), {servers, workers, 1 / seconds_of(job, servers, workers)}});
    }
  }
  return runs;
}

std::vector<PsRun> every(const std::vector<PsRun>& runs, std::size_t step) {
  std::vector<PsRun> some;
  for (std::size_t i = 0; i < runs.size(); i += step) some.push_back(runs[i]);
  return some;
}

TEST(PsSpeedModel, LearnsFromOtherJobsWhatTheFormulaMisses) {
  std::vector<PsRun> runs;
  std::vector<PsSample> own;
  for (int job = 1; job <= 6; ++job) {
    for (const PsRun& run : runs_of(job)) runs.push_back(run);
  }
  for (const PsRun& run : every(runs_of(8), 9)) {
    runs.push_back(run);
    own.push_back(run.sample);
  }
  const auto model = PsSpeedModel::fit(runs);
  const auto formula = PsFormula::fit(own, Synchrony::kSynchronous, BatchRule::kPerWorker);
  ASSERT_TRUE(model && formula);
  double ours = 0, formulas = 0;
  for (const PsRun& run : runs_of(8)) {
    const auto [servers, workers, speed] = run.sample;
    ours += std::abs(model->seconds(run.job, servers, workers) * speed - 1);
    formulas += std::abs(speed / formula->speed(servers, workers) - 1);
  }
  EXPECT_LT(ours, 0.5 * formulas);
}

TEST(PsSpeedModel, KnowsTheRunsItLearnedFrom) {
  const std::vector<PsRun> runs = every(runs_of(3), 3);
  const auto model = PsSpeedModel::fit(runs);
  ASSERT_TRUE(model);
  for (const PsRun& run : runs) {
    EXPECT_NEAR(model->seconds(run.job, run.sample.servers, run.sample.workers) * run.sample.speed, 1, 0.12);
  }
}

TEST(PsSpeedModel, NeedsRunsThatRan) {
  EXPECT_FALSE(PsSpeedModel::fit({}));
  const std::vector<PsRun> stuck = {{"job", {1, 1, 0}}};
  EXPECT_FALSE(PsSpeedModel::fit(stuck));
}

TEST(PsTrials, AreSpreadOverTheCandidatesEachOnce) {
  std::vector<PsSample> candidates;
  for (const PsRun& run : runs_of(1)) candidates.push_back(run.sample);
  const std::vector<std::size_t> chosen = spread_trials(candidates, 10);
  EXPECT_EQ(std::set<std::size_t>(chosen.begin(), chosen.end()).size(), 10U);
  std::set<std::pair<double, double>> corners;
  for (std::size_t i = 0; i < 4; ++i) corners.insert({candidates[chosen[i]].servers, candidates[chosen[i]].workers});
  EXPECT_TRUE(corners.contains({1, 1}));
  EXPECT_TRUE(corners.contains({8, 10}));
  EXPECT_EQ(spread_trials(candidates, 1000).size(), candidates.size());
}

}  // namespace
}  // namespace orrery::lab
