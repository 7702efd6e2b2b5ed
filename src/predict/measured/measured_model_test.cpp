#include "predict/measured/measured_model.h"

#include <cmath>
#include <gtest/gtest.h>

#include "hardware/placement.h"
#include "predict/measured/measured_predictor.h"
#include "profile/dataset/configurations.h"

namespace orrery::predict {
namespace {

// A data set of a synthetic machine: every step takes 2.5 times its prior.
class MeasuredModelTest : public ::testing::Test {
 protected:
  static profile::Dataset dataset_of(std::size_t count) {
    profile::Dataset dataset{{"synthetic, 1 core", "arithmetic", 1, 1}, {}};
    for (std::uint64_t i = 0; dataset.entries.size() < count; ++i) {
      profile::DatasetEntry entry;
      Seconds iteration;
      entry.configuration = profile::draw_configuration(1, i, {}).value();
      const workload::TrainingRun run = profile::run_of(entry.configuration).value();
      const StepFeatures features(run);
      for (std::size_t step = 0; step < features.steps().size(); ++step) {
        const Seconds time(2.5 * features.prior(step));
        entry.operators.push_back({features.steps()[step].op, features.steps()[step].phase, time, Seconds(0)});
        iteration += time;
      }
      entry.visits = {iteration};
      dataset.entries.push_back(std::move(entry));
    }
    return dataset;
  }
  // Fitted once: it takes seconds.
  static void SetUpTestSuite() { model() = fit_measured(measured_set(dataset_of(60)).value(), {}).value(); }
  static MeasuredModel& model() {
    static MeasuredModel fitted;
    return fitted;
  }
};

TEST_F(MeasuredModelTest, LearnsTheMachineAndSaysHowWell) {
  EXPECT_EQ(model().iterations, 60u);
  EXPECT_LT(model().error, 0.02);
  const workload::TrainingRun run =
      profile::run_of({"resnet", "resnet18:input=64", 4, workload::Optimizer::kSgd}).value();
  double expected = 0;
  const StepFeatures features(run);
  for (std::size_t step = 0; step < features.steps().size(); ++step) expected += 2.5 * features.prior(step);
  EXPECT_NEAR(model().steps.predict(run).iteration / expected, 1, 0.05);
}

TEST_F(MeasuredModelTest, SurvivesBeingWritten) {
  const std::string bytes = to_bytes(model());
  const MeasuredModel again = parse_measured_model(bytes).value();
  EXPECT_EQ(again.machine.name, model().machine.name);
  EXPECT_EQ(to_bytes(again), bytes);
}

TEST_F(MeasuredModelTest, RefusesWhatIsCutDamagedForeignOrFromAnotherVersion) {
  const std::string bytes = to_bytes(model());
  for (std::size_t cut = 0; cut < bytes.size(); cut += 4999) {
    EXPECT_FALSE(parse_measured_model(std::string_view(bytes).substr(0, cut)).has_value()) << cut;
  }
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  EXPECT_NE(parse_measured_model(damaged).error().to_string().find("damaged"), std::string::npos);
  std::string other = bytes;
  other[13] = 9;
  EXPECT_NE(parse_measured_model(other).error().to_string().find("version 9"), std::string::npos);
  EXPECT_FALSE(parse_measured_model("something else").has_value());
  EXPECT_FALSE(parse_measured_model(bytes + "x").has_value());
}

TEST_F(MeasuredModelTest, NeedsEnoughUndisturbedIterations) {
  profile::Dataset dataset = dataset_of(25);
  for (auto& entry : dataset.entries) entry.visits = {Seconds(1), Seconds(2)};
  EXPECT_FALSE(fit_measured(measured_set(dataset).value(), {}).has_value());
}

TEST_F(MeasuredModelTest, PredictsOneProcessorAndNothingElse) {
  const MeasuredPredictor predictor(model());
  const workload::TrainingRun run = profile::run_of(profile::draw_configuration(1, 0, {}).value()).value();
  const Prediction prediction = predictor.predict(run, hardware::make_placement("CPU", 1, 1).value()).value();
  EXPECT_TRUE(prediction.calibrated);
  EXPECT_LE(prediction.iteration.low, prediction.iteration.value);
  EXPECT_GE(prediction.iteration.high, prediction.iteration.value);
  const Seconds parts = prediction.forward + prediction.backward + prediction.update;
  EXPECT_NEAR(parts / prediction.iteration.value, 1, 1e-9);
  EXPECT_EQ(prediction.timeline.size(), run.graph.execution_order().size());
  EXPECT_FALSE(predictor.predict(run, hardware::make_placement("V100", 1, 1).value()).has_value());
  EXPECT_FALSE(predictor.predict(run, hardware::make_placement("CPU", 2, 2).value()).has_value());
}

}  // namespace
}  // namespace orrery::predict
