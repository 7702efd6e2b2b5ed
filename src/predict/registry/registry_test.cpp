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

std::vector<std::string_view> models_of_devices() {
  std::vector<std::string_view> models;
  for (const std::string_view bytes : shipped_models()) {
    if (is_measured_model(bytes)) models.push_back(bytes);
  }
  return models;
}

TEST(Registry, OperatorsOfOtherDevicesAnswerWhereTheyAreMostOfTheTime) {
  const Registry registry(shipped_models());
  const Prediction language = registry.predict(run_of("gpt2:layers=2", 2), on("A100")).value();
  EXPECT_EQ(language.predictor, "operators");
  EXPECT_EQ(registry.predict(run_of("gpt2:layers=2", 2), on("T4")).value().predictor, "measured");
  EXPECT_EQ(registry.predict(run_of("resnet18", 2), on("A100")).value().predictor, "analytic");
}

TEST(Registry, WithoutAModelTheFormulasAnswerAndSaySo) {
  const Prediction prediction = Registry(shipped_models()).predict(run_of("resnet18", 8), on("V100")).value();
  EXPECT_FALSE(prediction.calibrated);
  EXPECT_TRUE(mentions(prediction, "no model of V100"));
}

TEST(Registry, ShippedModelsAreReadableAndKnowTheirDevice) {
  ASSERT_FALSE(models_of_devices().empty());
  for (const std::string_view bytes : models_of_devices()) {
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
  for (const std::string_view bytes : models_of_devices()) {
    const std::string device = device_of_model(bytes).value();
    const Prediction prediction = Registry(shipped_models()).predict(run, on(device)).value();
    EXPECT_FALSE(prediction.calibrated);
    EXPECT_TRUE(mentions(prediction, "fp32"));
  }
}

TEST(Registry, TheModelWithTheLeastErrorAnswers) {
  ASSERT_FALSE(models_of_devices().empty());
  MeasuredModel model = parse_measured_model(models_of_devices().front()).value();
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
