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
  EXPECT_EQ(registry.predict(run_of("gpt2:layers=2", 2), on("T4")).value().predictor, "operators")
      << "the traces of T4 have no language models, its operators were measured";
  EXPECT_EQ(registry.predict(run_of("resnet18", 32), on("T4")).value().predictor, "measured");
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
    const bool is_host = device->kind == hardware::DeviceKind::kCpu;
    workload::TrainingRun run = run_of(is_host ? "resnet18:input=64" : "resnet18", is_host ? 8 : 16);
    if (!is_host) run.optimizer = workload::Optimizer::kMomentum;
    const Prediction prediction = Registry(shipped_models()).predict(run, on(device->name)).value();
    EXPECT_TRUE(prediction.calibrated);
    EXPECT_GT(prediction.iteration.value, Seconds(0));
    EXPECT_LE(prediction.iteration.low, prediction.iteration.value);
    EXPECT_GE(prediction.iteration.high, prediction.iteration.value);
  }
}

bool is_as_wide_as_formulas(const Prediction& prediction) {
  constexpr double kRounding = 1e-9;
  const auto& [value, low, high] = prediction.iteration;
  return low <= value * (kFormulaLow + kRounding) && high >= value * (kFormulaHigh - kRounding);
}

// The traces the models of T4 and RTX 2080 Ti were learned from have convolutional networks of some families only.
TEST(Registry, OutsideWhatWasLearnedAnAnswerIsNearTheFormulasAndNoSurer) {
  const Registry registry(shipped_models());
  for (const char* device : {"T4", "RTX2080Ti"}) {
    for (const char* model : {"vit_b_16", "bert_base", "gpt2", "regnet_y_400mf", "regnet_y_8gf", "inception_v3",
                              "resnext50_32x4d", "googlenet"}) {
      for (const std::int64_t batch : {8, 32}) {
        const workload::TrainingRun run = run_of(model, batch);
        const Prediction prediction = registry.predict(run, on(device)).value();
        const Prediction formulas = AnalyticPredictor().predict(run, on(device)).value();
        const double ratio = prediction.iteration.value / formulas.iteration.value;
        EXPECT_LT(ratio, 2) << model << " on " << device;
        EXPECT_GT(ratio, 0.5) << model << " on " << device;
        EXPECT_EQ(prediction.calibrated, prediction.in_domain);
        EXPECT_FALSE(prediction.predictor == "measured" && prediction.in_domain) << model << " on " << device;
        EXPECT_TRUE(prediction.in_domain || is_as_wide_as_formulas(prediction)) << model << " on " << device;
      }
    }
  }
}

TEST(Registry, InsideWhatWasLearnedTheIntervalIsNarrow) {
  const Registry registry(shipped_models());
  for (const char* device : {"T4", "RTX2080Ti"}) {
    workload::TrainingRun run = run_of("resnet50", 32);
    run.optimizer = workload::Optimizer::kMomentum;
    const Prediction prediction = registry.predict(run, on(device)).value();
    EXPECT_TRUE(prediction.in_domain) << device;
    EXPECT_GT(prediction.learned_share, 1 - kLargePart) << device;
    EXPECT_LT(prediction.iteration.high / prediction.iteration.value, 1.2) << device;
  }
}

// Everything that is not an operator on one device is formulas: where it is large, it decides.
TEST(Registry, TheWeakestLargePartDecidesTheInterval) {
  const Registry registry(shipped_models());
  workload::TrainingRun run = run_of("resnet50", 32);
  run.optimizer = workload::Optimizer::kMomentum;
  run.parallelism.data = 16;
  const auto slow = hardware::make_placement("T4", 16, 1, {.inside = {}, .between = "Ethernet 1G"}).value();
  const Prediction network = registry.predict(run, slow).value();
  EXPECT_GT(network.exposed_communication / network.iteration.value, kLargePart);
  EXPECT_FALSE(network.in_domain);
  EXPECT_TRUE(is_as_wide_as_formulas(network));
  run.parallelism.data = 1;
  run.optimizer = workload::Optimizer::kAdamW;  // the traces have momentum: its update alone is not a large part here
  EXPECT_TRUE(registry.predict(run, on("T4")).value().in_domain);
  EXPECT_LT(registry.predict(run, on("T4")).value().learned_share, 1);
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
