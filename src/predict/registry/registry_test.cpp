#include "predict/registry/registry.h"

#include <gtest/gtest.h>

#include "predict/registry/shipped_models.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

workload::TrainingRun run_of(std::string_view model, std::int64_t batch) {
  return {.graph = workload::build_model(model).value().with_batch(batch).value()};
}

hardware::Placement on(std::string_view device, int count = 1) {
  return hardware::make_placement(device, count, count).value();
}

bool mentions(const Prediction& prediction, std::string_view text) {
  for (const std::string& note : prediction.notes) {
    if (note.find(text) != std::string::npos) return true;
  }
  return false;
}

TEST(Registry, WithoutAModelTheFormulasAnswerAndSaySo) {
  const Prediction prediction = Registry(shipped_models()).predict(run_of("resnet18", 8), on("V100")).value();
  EXPECT_FALSE(prediction.calibrated);
  EXPECT_TRUE(mentions(prediction, "no model of V100"));
}

TEST(Registry, ShippedModelsAreReadableAndKnowTheirDevice) {
  ASSERT_FALSE(shipped_models().empty());
  for (const std::string_view bytes : shipped_models()) {
    const MeasuredModel model = parse_measured_model(bytes).value();
    EXPECT_EQ(device_of_model(bytes).value(), model.machine.device);
    const hardware::Device* device = hardware::find_device_or_null(model.machine.device);
    ASSERT_NE(device, nullptr) << model.machine.device;
    const Prediction prediction = Registry(shipped_models()).predict(run_of("resnet18", 16), on(device->name)).value();
    EXPECT_TRUE(prediction.calibrated);
    EXPECT_GT(prediction.iteration.value, Seconds(0));
    EXPECT_LE(prediction.iteration.low, prediction.iteration.value);
    EXPECT_GE(prediction.iteration.high, prediction.iteration.value);
  }
}

TEST(Registry, WhatAModelCannotPredictTheFormulasDo) {
  workload::TrainingRun run = run_of("resnet18", 8);
  run.precision = Precision::kFp16;
  for (const std::string_view bytes : shipped_models()) {
    const std::string device = device_of_model(bytes).value();
    const Prediction prediction = Registry(shipped_models()).predict(run, on(device)).value();
    EXPECT_FALSE(prediction.calibrated);
    EXPECT_TRUE(mentions(prediction, "fp32"));
  }
}

TEST(Registry, TheModelWithTheLeastErrorAnswers) {
  ASSERT_FALSE(shipped_models().empty());
  MeasuredModel model = parse_measured_model(shipped_models().front()).value();
  const std::string device = model.machine.device;
  std::vector<std::string> files;
  for (const double error : {0.2, 0.01, 0.3}) {
    model.error = error;
    files.push_back(to_bytes(model));
  }
  const std::vector<std::string_view> views(files.begin(), files.end());
  const Prediction prediction = Registry(views).predict(run_of("resnet18", 8), on(device)).value();
  EXPECT_EQ(prediction.predictor, "measured");
  EXPECT_NE(prediction.made_by.find("mean error 1.0 %"), std::string::npos) << prediction.made_by;
}

TEST(Registry, DamagedModelsAreNamedErrors) {
  const std::string_view junk[] = {"orrery-model\nxyz"};
  EXPECT_FALSE(Registry(junk).predict(run_of("resnet18", 8), on("V100")).has_value());
}

}  // namespace
}  // namespace orrery::predict
