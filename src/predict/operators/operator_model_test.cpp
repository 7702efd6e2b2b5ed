#include "predict/operators/operator_model.h"

#include <cmath>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "predict/operators/operator_predictor.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

DeviceFacts device_of(const std::string& name, double scale) {
  DeviceFacts device;
  device.name = name;
  device.peak = device.usable_peak = scale * 10e12;
  device.bandwidth = scale * 500e9;
  device.sms = 60;
  device.l2_bytes = 4e6;
  device.generation = 7 + scale / 10;
  return device;
}

// Every operator takes 1.25 of its roof and 10 µs.
double true_ms(OperatorClass operator_class, const OperatorShape& shape, const DeviceFacts& device) {
  return 1.25 * physical_row(operator_class, shape, device).roof_ms + 0.01;
}

OperatorShape draw_shape(OperatorClass operator_class, Random& random) {
  const auto size = [&] { return std::floor(std::exp2(4 + 8 * random.uniform())); };
  switch (operator_class) {
    case OperatorClass::kBatchedProduct:
      return {"bmm", std::ceil(size() / 64), size(), size(), size()};
    case OperatorClass::kLinear:
      return {"linear", 1, size(), size(), size()};
    case OperatorClass::kSoftmax:
      return {"softmax", 64 * size(), size()};
    case OperatorClass::kLayerNorm:
      return {"ln", 64 * size(), size()};
    case OperatorClass::kElementwise:
      break;
  }
  return {random.uniform() < 0.5 ? "add" : "gelu", 64 * size(), size()};
}

const OperatorModel& model() {
  static const OperatorModel kModel = [] {
    Random random(1);
    const std::vector<ListedDevice> devices = {
        {device_of("a", 0.5), {}}, {device_of("b", 1), {}}, {device_of("c", 1.5), {}}};
    std::vector<OperatorWork> classes;
    for (const OperatorClass operator_class : kOperatorClasses) {
      OperatorWorkBuilder builder(operator_class, devices);
      std::vector<OperatorMeasurement> measured;
      for (const ListedDevice& device : devices) {
        for (int i = 0; i < 150; ++i) {
          const OperatorShape shape = draw_shape(operator_class, random);
          measured.push_back({.device = device.facts.name,
                              .shape = shape,
                              .latency_ms = true_ms(operator_class, shape, device.facts),
                              .is_random_sweep = i % 2 == 0});
        }
      }
      EXPECT_TRUE(builder.add(measured, true));
      classes.push_back(std::move(builder).take());
    }
    EnsembleOptions options;
    options.boost.trees = 60;
    return OperatorModel::fit(std::move(classes), options).value();
  }();
  return kModel;
}

TEST(OperatorModel, KnowsNewWorkOnUnmeasuredDevices) {
  Random random(2);
  const DeviceFacts device = device_of("new", 1.2);
  for (const OperatorClass operator_class : kOperatorClasses) {
    double error = 0;
    for (int i = 0; i < 50; ++i) {
      const OperatorShape shape = draw_shape(operator_class, random);
      error +=
          std::abs(model().time_ms({operator_class, shape}, device) / true_ms(operator_class, shape, device) - 1) / 50;
    }
    EXPECT_LT(error, 0.1) << to_string(operator_class);
  }
  EXPECT_TRUE(model().is_measured("b"));
  EXPECT_FALSE(model().is_measured("new"));
  EXPECT_LE(model().ratios().low, 1);
  EXPECT_GE(model().ratios().high, 1);
}

TEST(OperatorModel, AMeasuredDeviceSpeaksForItselfUnlessItIsExcluded) {
  DeviceFacts odd = device_of("b", 1);
  const GraphWork work{OperatorClass::kLinear, {"linear", 1, 512, 512, 512}};
  const double own = model().time_ms(work, odd), others = model().time_ms(work, odd, "b");
  EXPECT_NE(own, others);
  EXPECT_NEAR(own / true_ms(work.operator_class, work.shape, odd), 1, 0.1);
}

TEST(OperatorModel, BytesGiveTheSameModel) {
  const std::string bytes = model().to_bytes();
  ASSERT_TRUE(OperatorModel::is_one(bytes));
  const auto back = OperatorModel::parse(bytes);
  ASSERT_TRUE(back) << back.error().to_string();
  Random random(3);
  for (const OperatorClass operator_class : kOperatorClasses) {
    const GraphWork work{operator_class, draw_shape(operator_class, random)};
    EXPECT_EQ(back->time_ms(work, device_of("new", 2)), model().time_ms(work, device_of("new", 2)));
  }
  EXPECT_EQ(back->devices(), model().devices());
  EXPECT_EQ(back->to_bytes(), bytes);
}

TEST(OperatorModel, CutOrDamagedBytesAreRefused) {
  const std::string bytes = model().to_bytes();
  for (std::size_t cut = 0; cut < bytes.size(); cut += 4999) {
    EXPECT_FALSE(OperatorModel::parse(std::string_view(bytes).substr(0, cut)).has_value()) << cut;
  }
  std::string damaged = bytes;
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
  EXPECT_FALSE(OperatorModel::parse(damaged).has_value());
  EXPECT_FALSE(OperatorModel::parse("orrery-model\n").has_value());
}

// Behind the checksum too: whatever the bytes are, reading ends with a model or an error.
RC_GTEST_PROP(OperatorModel, AnyBytesOfAnEnsembleGiveItOrAnError, (const std::string& bytes)) {
  ByteReader in(bytes);
  static_cast<void>(DeviceEnsemble::read(in));
}

workload::TrainingRun run_of(const std::string& model_name, std::int64_t batch) {
  return workload::TrainingRun{workload::build_model(model_name).value().with_batch(batch).value()};
}

std::vector<GraphWork> works_of(const workload::TrainingGraph& graph, std::string_view name, workload::Phase phase) {
  for (const workload::PhaseStep& step : graph.execution_order()) {
    if (graph[step.op].name == name && step.phase == phase) return known_operators(graph, step);
  }
  ADD_FAILURE() << "no operator " << name;
  return {};
}

TEST(GraphOperators, ALinearLayerIsOneProductForwardAndTwoBackward) {
  const workload::TrainingRun run = run_of("mlp:features=100,hidden=200,layers=2,classes=10", 32);
  std::string second;  // the first layer's input needs no gradient
  int linears = 0;
  for (const workload::Operator& op : run.graph.operators()) {
    if (op.kind == workload::OperatorKind::kLinear && ++linears == 2) second = op.name;
  }
  const auto forward = works_of(run.graph, second, workload::Phase::kForward);
  ASSERT_EQ(forward.size(), 1u);
  EXPECT_EQ(forward[0].operator_class, OperatorClass::kLinear);
  const auto backward = works_of(run.graph, second, workload::Phase::kBackward);
  ASSERT_EQ(backward.size(), 2u);
  const auto flops = [](const GraphWork& work) { return work.shape.b * work.shape.m * work.shape.n * work.shape.k; };
  EXPECT_EQ(flops(backward[0]), flops(forward[0]));
  EXPECT_EQ(flops(backward[1]), flops(forward[0]));
}

// The arithmetic of products must be what the cost rules count, forward and backward, however attention is written.
TEST(GraphOperators, ProductsOfATransformerHaveTheArithmeticOfItsGraph) {
  for (const char* name : {"gpt2:layers=2,hidden=64,heads=4,seq=32,vocab=100,attention=explicit",
                           "bert_tiny:seq=32,vocab=100", "vit_b_16:layers=2,hidden=64,heads=4,mlp=128,input=32"}) {
    const workload::TrainingRun run = run_of(name, 2);
    for (const workload::PhaseStep& step : run.graph.execution_order()) {
      const workload::OperatorKind kind = run.graph[step.op].kind;
      const bool is_product = kind == workload::OperatorKind::kLinear || kind == workload::OperatorKind::kMatmul;
      if (!is_product || step.phase == workload::Phase::kUpdate) continue;
      double products = 0;
      for (const GraphWork& work : known_operators(run.graph, step)) {
        products += 2 * work.shape.b * work.shape.m * work.shape.n * work.shape.k;
      }
      const double counted = operator_cost(run.graph, step, run.cost_options()).matrix_flops.value();
      EXPECT_NEAR(products / counted, 1, 0.01) << name << " " << run.graph[step.op].name;
    }
  }
}

TEST(OperatorPredictor, PredictsATransformerOnAnUnmeasuredDeviceAndSaysSo) {
  const OperatorPredictor predictor(model());
  const auto placement = hardware::make_placement("V100", 1, 1).value();
  const workload::TrainingRun run = run_of("gpt2:layers=2", 2);
  const auto prediction = predictor.predict(run, placement);
  ASSERT_TRUE(prediction) << prediction.error().to_string();
  EXPECT_EQ(prediction->predictor, "operators");
  EXPECT_LT(prediction->iteration.low, prediction->iteration.value);
  ASSERT_FALSE(prediction->notes.empty());
  EXPECT_NE(prediction->notes[0].find("outside what was measured"), std::string::npos);
}

TEST(OperatorPredictor, RefusesWhatOperatorsSayLittleAbout) {
  const OperatorPredictor predictor(model());
  const auto placement = hardware::make_placement("V100", 1, 1).value();
  EXPECT_FALSE(predictor.predict(run_of("resnet50", 8), placement));  // convolutions
  workload::TrainingRun half = run_of("gpt2:layers=2", 2);
  half.precision = Precision::kBf16;
  EXPECT_FALSE(predictor.predict(half, placement));
  EXPECT_FALSE(predictor.predict(run_of("gpt2:layers=2", 2), hardware::make_placement("CPU", 1, 1).value()));
}

}  // namespace
}  // namespace orrery::predict
