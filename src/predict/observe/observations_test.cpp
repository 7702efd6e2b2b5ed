#include "predict/observe/observations.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "env/sim_env.h"
#include "hardware/placement.h"
#include "predict/analytic/analytic.h"
#include "predict/observe/observed_predictor.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

std::vector<Observation> runs(const std::vector<double>& ratios) {
  std::vector<Observation> all;
  for (const double ratio : ratios) all.push_back({"T4", "analytic", "a run", 2, 2 * ratio});
  return all;
}

TEST(Observations, FourRunsSayTooLittle) {
  EXPECT_FALSE(correction_of(runs({1.5, 1.5, 1.5, 1.5}), "T4", "analytic"));
  EXPECT_FALSE(correction_of(runs({1.5, 1.5, 1.5, 1.5, 1.5}), "V100", "analytic"));
  EXPECT_FALSE(correction_of(runs({1.5, 1.5, 1.5, 1.5, 1.5}), "T4", "measured"));
}

TEST(Observations, FiveRunsCorrectASteadyError) {
  const auto correction = correction_of(runs({1.5, 1.52, 1.48, 1.51, 1.49}), "T4", "analytic");
  ASSERT_TRUE(correction);
  EXPECT_NEAR(correction->factor, 1.5, 0.005);
  EXPECT_LT(correction->low, 1);
  EXPECT_GT(correction->high, 1);
  EXPECT_NEAR(correction->error_before, 1.0 / 3, 0.01);
  EXPECT_LT(correction->error_after, 0.02);
}

TEST(Observations, AStrayRunIsLeftOutAndCounted) {
  const auto correction = correction_of(runs({1.5, 1.52, 1.48, 1.51, 1.49, 1.5, 1.5, 40}), "T4", "analytic");
  ASSERT_TRUE(correction);
  EXPECT_EQ(correction->outliers, 1U);
  EXPECT_NEAR(correction->factor, 1.5, 0.005);
}

// Ratios that are alike: the interval of five holds four of five new ones.
TEST(Observations, IntervalsFromFiveRunsHoldFourOfFive) {
  Random random(7);
  const auto ratio = [&] { return std::exp(0.3 + 0.1 * random.normal()); };
  int inside = 0;
  constexpr int kTrials = 4000;
  for (int i = 0; i < kTrials; ++i) {
    const auto correction = correction_of(runs({ratio(), ratio(), ratio(), ratio(), ratio()}), "T4", "analytic");
    ASSERT_TRUE(correction);
    const double next = ratio() / correction->factor;
    inside += next >= correction->low && next <= correction->high ? 1 : 0;
  }
  EXPECT_NEAR(inside / double{kTrials}, 0.8, 0.03);
}

TEST(Observations, AreKeptInAFile) {
  env::SimEnv sim;
  EXPECT_TRUE(read_observations(sim.files, "runs.jsonl").value().empty());
  const Observation one{"T4", "measured", "resnet18, \"batch\" 8", 0.25, 0.5};
  ASSERT_TRUE(append_observation(sim.files, "runs.jsonl", one));
  ASSERT_TRUE(append_observation(sim.files, "runs.jsonl", one));
  sim.files.crash();
  const auto all = read_observations(sim.files, "runs.jsonl").value();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].run, one.run);
  EXPECT_EQ(all[1].predicted, 0.25);
  EXPECT_EQ(all[1].measured, 0.5);
}

TEST(Observations, ErrorsNameTheLineAndTheField) {
  const std::string good = R"({"device":"T4","predictor":"analytic","run":"","predicted_s":1,"measured_s":1})";
  EXPECT_EQ(parse_observations(good + "\n\n" + good).value().size(), 2U);
  EXPECT_EQ(parse_observations(good + "\nx").error().message(), "line 2: not a JSON object");
  EXPECT_EQ(parse_observations("{}").error().message(), "line 1: \"device\" is not a text");
  EXPECT_EQ(
      parse_observations(R"({"device":"","predictor":"","run":"","predicted_s":1,"measured_s":-1})").error().message(),
      "line 1: \"measured_s\" is not above 0");
}

TEST(Observations, WhatCouldNotBeReadAgainIsNotKept) {
  env::SimEnv sim;
  const Observation good{"T4", "analytic", "resnet18", 1, 1.2};
  ASSERT_TRUE(append_observation(sim.files, "runs.jsonl", good));
  Observation bad = good;
  bad.measured = -0.005;
  EXPECT_FALSE(append_observation(sim.files, "runs.jsonl", bad));
  bad = good;
  bad.predicted = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(append_observation(sim.files, "runs.jsonl", bad));
  bad = good;
  bad.run = std::string(5000, 'x');
  EXPECT_FALSE(append_observation(sim.files, "runs.jsonl", bad));
  EXPECT_EQ(read_observations(sim.files, "runs.jsonl")->size(), 1u);
}

RC_GTEST_PROP(Observations, AnyTextIsObservationsOrAnError, (const std::string& text)) {
  const auto all = parse_observations(text);
  RC_ASSERT(all.has_value() || !all.error().message().empty());
}

TEST(ObservedPredictor, ScalesEveryTimeAndKeepsTheParts) {
  const workload::TrainingRun run{.graph = workload::build_model("resnet18").value().with_batch(16).value()};
  const hardware::Placement placement = hardware::make_placement("T4", 1, 1).value();
  const Prediction plain = AnalyticPredictor().predict(run, placement).value();
  const ObservedPredictor observed(std::make_unique<AnalyticPredictor>(), runs({1.5, 1.52, 1.48, 1.51, 1.49}));
  const Prediction corrected = observed.predict(run, placement).value();
  EXPECT_NEAR(corrected.iteration.value / plain.iteration.value, 1.5, 0.005);
  EXPECT_NEAR((corrected.forward + corrected.backward + corrected.update) / corrected.iteration.value, 1, 1e-9);
  EXPECT_LT(corrected.iteration.high / corrected.iteration.value, 1.1) << "five runs agreed to 2 %";
  EXPECT_NEAR(corrected.cost->value / plain.cost->value, 1.5, 0.005);
  EXPECT_TRUE(corrected.calibrated);
  const ObservedPredictor unknown(std::make_unique<AnalyticPredictor>(), {});
  EXPECT_EQ(unknown.predict(run, placement)->iteration.value, plain.iteration.value);
}

// A model whose prediction is outside of what it learned.
class OutsidePredictor final : public Predictor {
 public:
  std::string_view name() const override { return "analytic"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override {
    ORRERY_TRY(Prediction made, AnalyticPredictor().predict(run, placement));
    made.learned_share = 0.5;
    return made;
  }
};

TEST(ObservedPredictor, RunsInsideTheDomainAreNoReasonToBeSureOutside) {
  const workload::TrainingRun run{.graph = workload::build_model("resnet18").value().with_batch(16).value()};
  const hardware::Placement placement = hardware::make_placement("T4", 1, 1).value();
  const ObservedPredictor observed(std::make_unique<OutsidePredictor>(), runs({1.5, 1.52, 1.48, 1.51, 1.49}));
  const Prediction corrected = observed.predict(run, placement).value();
  EXPECT_FALSE(corrected.calibrated);
  EXPECT_GE(corrected.iteration.high / corrected.iteration.value, kFormulaHigh - 1e-9);
  EXPECT_LE(corrected.iteration.low / corrected.iteration.value, kFormulaLow + 1e-9);
}

}  // namespace
}  // namespace orrery::predict
