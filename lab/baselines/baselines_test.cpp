#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"
#include "lab/baselines/graph_attention.h"
#include "lab/baselines/graph_totals.h"
#include "lab/baselines/habitat.h"
#include "lab/baselines/layer_mlp.h"
#include "lab/lab.h"
#include "lab/methods/wave_scaling.h"
#include "profile/dataset/configurations.h"

namespace orrery::lab {
namespace {

using workload::Phase;

// y = 3 a − b, whatever the scale of the columns.
TEST(MlpRegression, LearnsALineAndIsTheSameForTheSameSeed) {
  Random random(1);
  Features features({"a", "b"});
  std::vector<double> targets;
  for (int i = 0; i < 500; ++i) {
    const double a = random.normal(), b = random.normal();
    features.add(std::array{static_cast<float>(1e6 * a), static_cast<float>(b)});
    targets.push_back(3 * a - b);
  }
  MlpOptions options;
  options.widths = {32, 32};
  options.plan = {.steps = 600, .batch = 64, .learning_rate = 1e-2, .schedule = LearningRate::kFalling};
  const auto predicted = MlpRegression::fit(features, targets, options).value().predict(features).value();
  double error = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) error += std::abs(predicted[i] - targets[i]) / 500;
  EXPECT_LT(error, 0.1);
  EXPECT_EQ(MlpRegression::fit(features, targets, options).value().predict(features).value(), predicted);
  targets.pop_back();
  EXPECT_FALSE(MlpRegression::fit(features, targets, options).has_value());
}

TEST(OperatorMlp, TargetsAndTimesAreInverse) {
  for (const OperatorMlpForm form : {OperatorMlpForm::kHabitat, OperatorMlpForm::kJustus}) {
    for (const double ms : {0.01, 1.0, 300.0}) EXPECT_NEAR(mlp_time(form, mlp_target(form, ms)), ms, 1e-9 * ms);
  }
}

// A synthetic machine on which every step takes 2.5 times its prior.
class OnADataset : public ::testing::Test {
 protected:
  OnADataset() {
    for (std::uint64_t i = 0; i < 24; ++i) {
      const profile::Configuration configuration = profile::draw_configuration(1, i, {}).value();
      DatasetIteration one{
          configuration.key(), configuration.family, false, {profile::run_of(configuration).value(), {}, 0}};
      const StepFeatures features(one.steps.run);
      for (std::size_t step = 0; step < features.steps().size(); ++step) {
        one.steps.seconds.push_back(2.5 * features.prior(step));
        one.steps.iteration += one.steps.seconds.back();
      }
      all_.push_back(std::move(one));
    }
    for (const DatasetIteration& one : all_) train_.push_back(&one);
  }

  template <class Predict>
  double error_of(const Predict& predict) const {
    double error = 0;
    for (const DatasetIteration& one : all_) error += std::abs(predict(one.steps.run) / one.steps.iteration - 1);
    return error / static_cast<double>(all_.size());
  }

  std::vector<DatasetIteration> all_;
  std::vector<const DatasetIteration*> train_;
};

TEST_F(OnADataset, EveryBaselineLearnsWhatItSaw) {
  const auto of_operators = OperatorMlp::fit(train_, OperatorMlpForm::kHabitat, 300, 1).value();
  EXPECT_LT(error_of([&](const auto& run) { return of_operators.predict(run).value(); }), 0.3);
  const auto of_layers = OperatorMlp::fit(train_, OperatorMlpForm::kJustus, 800, 1).value();
  EXPECT_LT(error_of([&](const auto& run) { return of_layers.predict(run).value(); }), 0.6);
  const auto of_graphs = GraphAttention::fit(train_, 200, 1).value();
  EXPECT_LT(error_of([&](const auto& run) { return of_graphs.predict(run).value(); }), 0.25);
  const auto of_totals = GraphTotals::fit(train_, {.trees = 100, .min_rows = 2}).value();
  EXPECT_LT(error_of([&](const auto& run) { return of_totals.predict(run); }), 0.25);
}

constexpr std::int32_t kConv = 1, kRelu = 2;
WorkClass class_of(std::int32_t kind) {
  return kind == kConv ? WorkClass::kConvolution : WorkClass::kElementwise;
}

// One convolution, which the T4 runs three times as long as the 2080 Ti, and one element-wise operator of 100 µs.
LaunchTrace trace_on(const std::string& gpu, std::int32_t batch) {
  LaunchTrace trace;
  trace.gpu = gpu;
  LaunchedOperator conv;
  conv.kind = kConv;
  conv.parameters = {batch, 64, 32, 32, 64, 32, 32, 3, 3, 1, 1, 1, 1, 1, 1, 1, 4};
  LaunchedOperator relu;
  relu.kind = kRelu;
  relu.grid = 1e5;
  relu.block = 128;
  relu.parameters = {4, batch, 64, 32, 32};
  trace.operators = {conv, relu};
  trace.times = {{(gpu == "T4" ? 300.0 : 100.0) * batch, 7, 0, 0}, {100, 3, 0, 0}};
  return trace;
}

// Gaps are copied (10 µs). With networks the convolution is divided by three; the rest is wave scaled.
TEST(Habitat, ScalesConvolutionsByItsNetworkAndTheRestByWaves) {
  std::vector<LaunchTrace> traces;
  for (std::int32_t batch = 1; batch <= 64; ++batch) {
    for (const char* gpu : {"T4", "RTX2080Ti"}) traces.push_back(trace_on(gpu, batch));
  }
  std::vector<const LaunchTrace*> all;
  for (const LaunchTrace& trace : traces) all.push_back(&trace);
  const Habitat habitat = Habitat::fit(all, class_of, {.steps = 500}).value();
  const hardware::Device& t4 = **hardware::find_device("T4");
  const hardware::Device& target = **hardware::find_device("RTX2080Ti");
  const LaunchTrace measured = trace_on("T4", 20);
  const auto scaled = [&](std::size_t row) {
    const LaunchedOperator& op = measured.operators[row];
    const LaunchWork work = work_of(op, class_of(op.kind));
    return wave_scaled_ms({measured.times[row].device, op.grid, 8, work.flops / work.bytes}, t4, target);
  };
  const double with_network = habitat.iteration(measured, target, Habitat::Kernels::kNetworks).value();
  EXPECT_NEAR(with_network, 10 + 2000 + scaled(1), 0.15 * 2000);
  LaunchTrace without = measured;
  without.operators.front().block = 128;
  EXPECT_NEAR(habitat.iteration(without, target, Habitat::Kernels::kWavesOnly).value(), 10 + scaled(0) + scaled(1),
              1e-6 * with_network);
  EXPECT_FALSE(habitat.iteration(trace_on("no such GPU", 1), target, Habitat::Kernels::kNetworks).has_value());
}

TEST(LayerMlp, LearnsLayersOfOtherDevices) {
  const DeviceFacts device = facts_of(**hardware::find_device("T4"));
  Features features(layer_mlp_names());
  std::vector<double> times;
  std::vector<std::size_t> chosen;
  std::vector<float> row;
  for (int i = 0; i < 400; ++i) {
    Layer layer;
    layer.batch = 1 + i % 20;
    layer.inputs = 10 + i % 7;
    layer.optimizer = static_cast<std::size_t>(i) % kLayerOptimizers;
    layer_mlp_row(layer, device, row);
    features.add(row);
    times.push_back(2 * layer.batch);
    chosen.push_back(static_cast<std::size_t>(i));
  }
  const auto predicted = fit_layer_mlp(features, times, chosen, 1500, 1).value().predict(features).value();
  double error = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    error += std::abs(mlp_time(OperatorMlpForm::kJustus, predicted[i]) / times[i] - 1) / 400;
  }
  EXPECT_LT(error, 0.25);
}

}  // namespace
}  // namespace orrery::lab
