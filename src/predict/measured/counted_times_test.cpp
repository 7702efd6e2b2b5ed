#include "predict/measured/counted_times.h"

#include <gtest/gtest.h>

#include "predict/analytic/roofline.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

workload::TrainingRun run_of(const std::string& model, std::int64_t batch) {
  return {.graph = workload::build_model(model).value().with_batch(batch).value(),
          .optimizer = workload::Optimizer::kMomentum};
}

const hardware::Device& gpu() {
  return *hardware::find_device_or_null("T4");
}

// Every step takes three times its prior.
MeasuredSteps measured(workload::TrainingRun run) {
  MeasuredSteps steps{std::move(run), {}, 0};
  const StepFeatures features(steps.run, scale_of(gpu()));
  for (std::size_t i = 0; i < features.steps().size(); ++i) {
    steps.seconds.push_back(3 * features.prior(i));
    steps.iteration += steps.seconds.back();
  }
  return steps;
}

StepModel model_of_resnets() {
  std::vector<MeasuredSteps> all;
  for (const std::int64_t batch : {8, 16, 32, 64}) all.push_back(measured(run_of("resnet18:input=64", batch)));
  std::vector<const MeasuredSteps*> views;
  for (const MeasuredSteps& one : all) views.push_back(&one);
  return StepModel::fit(views, scale_of(gpu()), step_boost_options(1, 1)).value();
}

double roofline_of(const workload::TrainingRun& run, const workload::PhaseStep& step) {
  const auto cost = workload::operator_cost(run.graph, step, run.cost_options());
  return roofline_time(gpu(), run.precision, run.graph, run.graph[step.op], cost, 1).time.value();
}

TEST(CountedTimes, WhatWasMeasuredCounts) {
  const CountedTimes times = counted_times(model_of_resnets(), run_of("resnet18:input=64", 24), gpu());
  EXPECT_TRUE(times.in_domain());
  EXPECT_EQ(times.formula_share, 0);
}

TEST(CountedTimes, EveryOtherStepTakesTheRoofline) {
  const StepModel model = model_of_resnets();
  for (const char* name : {"vit_b_16:layers=2", "inception_v3", "resnext50_32x4d:input=64"}) {
    const workload::TrainingRun run = run_of(name, 16);
    const CountedTimes times = counted_times(model, run, gpu());
    EXPECT_FALSE(times.in_domain()) << name;
    const auto steps = run.graph.execution_order();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_TRUE(times.learned[i] || times.seconds[i] == roofline_of(run, steps[i])) << name;
    }
  }
}

TEST(CountedTimes, ASizeFarBeyondThoseMeasuredIsNotLearned) {
  const CountedTimes times = counted_times(model_of_resnets(), run_of("resnet18:input=64", 64 * 64), gpu());
  EXPECT_GT(times.formula_share, 0.5);
}

TEST(CountedTimes, AnotherOptimizersUpdateIsNotLearned) {
  workload::TrainingRun run = run_of("resnet18:input=64", 16);
  run.optimizer = workload::Optimizer::kAdamW;
  const CountedTimes times = counted_times(model_of_resnets(), run, gpu());
  const auto steps = run.graph.execution_order();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_FALSE(steps[i].phase == workload::Phase::kUpdate && times.learned[i]);
  }
}

// 1 × 7 and 7 × 1 windows have the arithmetic of a 1 × 1 one with more channels, and other kernels.
TEST(CountedTimes, WindowsAreToldApartByBothSides) {
  const workload::TrainingRun inception = run_of("inception_v3", 16);
  const StepFeatures features(inception);
  std::uint64_t tall = 0, wide = 0;
  for (std::size_t i = 0; i < features.steps().size(); ++i) {
    if (features.steps()[i].phase != workload::Phase::kForward) continue;
    const auto* conv = std::get_if<workload::ConvAttributes>(&inception.graph[features.steps()[i].op].attributes);
    if (conv == nullptr || conv->out_channels != 192) continue;
    if (conv->window.kernel_h == 7 && conv->window.kernel_w == 1) tall = features.likeness(i);
    if (conv->window.kernel_h == 1 && conv->window.kernel_w == 1) wide = wide == 0 ? features.likeness(i) : wide;
  }
  EXPECT_NE(tall, 0u);
  EXPECT_NE(tall, wide);
}

}  // namespace
}  // namespace orrery::predict
