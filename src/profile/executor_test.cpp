// The executor on real tensors. Each test loads libtorch, which takes most of a second.

#include "profile/executor.h"

#include <cmath>
#include <gtest/gtest.h>

#include "env/env.h"
#include "env/files.h"
#include "profile/profiler.h"
#include "profile/training_data.h"
#include "workload/graph_builder.h"
#include "workload/zoo/zoo.h"

namespace orrery::profile {
namespace {

using workload::Optimizer;
using workload::Phase;

std::unique_ptr<Executor> executor_of(const workload::TrainingRun& run, ExecutorOptions options = {}) {
  auto executor = make_executor(run, options, env::make_real_env().clock);
  EXPECT_TRUE(executor) << executor.error().to_string();
  return executor ? std::move(*executor) : nullptr;
}

workload::TrainingRun zoo_run(const std::string& model, std::int64_t batch) {
  auto graph = workload::build_model(model);
  EXPECT_TRUE(graph) << graph.error().to_string();
  return {*graph->with_batch(batch)};
}

// One linear layer of one input and a squared error: everything can be computed by hand.
workload::TrainingRun one_weight(Optimizer optimizer) {
  workload::GraphBuilder g("one");
  g.mean_squared_error(g.linear(g.input("x", {1, 1}), "fc", 1, false));
  workload::TrainingRun run{*g.finish()};
  run.optimizer = optimizer;
  return run;
}

// loss = (w x − t)², x = 2, t = 1, w = 3: loss 25, gradient 2 (w x − t) x = 20.
std::unique_ptr<Executor> prepared(const workload::TrainingRun& run, double learning_rate) {
  ExecutorOptions options;
  options.learning_rate = learning_rate;
  auto executor = executor_of(run, options);
  const float x[] = {2}, t[] = {1}, w[] = {3};
  EXPECT_TRUE(executor->set_input(0, x) && executor->set_target(0, t) && executor->set_parameter("fc.weight", w));
  return executor;
}

double weight_after_steps(Optimizer optimizer, double learning_rate, int steps) {
  const auto run = one_weight(optimizer);
  const auto executor = prepared(run, learning_rate);
  for (int i = 0; i < steps; ++i) EXPECT_TRUE(executor->step(Trace::kNo));
  return (*executor->parameter("fc.weight"))[0];
}

TEST(Executor, LossAndGradientOfOneWeight) {
  const auto run = one_weight(Optimizer::kSgd);
  const auto executor = prepared(run, 0.01);
  EXPECT_NEAR(*executor->compute_gradients(), 25, 1e-5);
  EXPECT_NEAR((*executor->gradient("fc.weight"))[0], 20, 1e-5);
}

TEST(Executor, SgdStepsAgainstTheGradient) {
  EXPECT_NEAR(weight_after_steps(Optimizer::kSgd, 0.01, 1), 2.8, 1e-6);  // 3 − 0.01 · 20
}

TEST(Executor, MomentumKeepsNineTenthsOfItsSpeed) {
  // w = 2.8 after the first step; then the gradient is 2 (5.6 − 1) 2 = 18.4 and the speed 0.9 · 20 + 18.4 = 36.4.
  EXPECT_NEAR(weight_after_steps(Optimizer::kMomentum, 0.01, 2), 2.8 - 0.364, 1e-5);
}

TEST(Executor, AdamsFirstStepIsTheLearningRate) {
  EXPECT_NEAR(weight_after_steps(Optimizer::kAdam, 0.01, 1), 3 - 0.01, 1e-6);
  EXPECT_NEAR(weight_after_steps(Optimizer::kAdamW, 0.01, 1), 3 * (1 - 1e-4) - 0.01, 1e-6);
}

TEST(Executor, EveryOperatorThatLearnsIsTracedInAllThreePhasesInOrder) {
  const auto run = zoo_run("resnet18:input=32", 2);
  const auto executor = executor_of(run);
  const auto step = executor->step(Trace::kYes);
  ASSERT_TRUE(step);
  workload::ByOperator<std::array<int, 3>> seen(run.graph.operators().size());
  Seconds last = step->start;
  Phase phase = Phase::kForward;
  for (const OperatorSample& sample : step->samples) {
    EXPECT_GE(sample.start, last);
    EXPECT_GE(sample.end, sample.start);
    EXPECT_GE(sample.phase, phase);
    last = sample.end;
    phase = sample.phase;
    ++seen[sample.op][static_cast<std::size_t>(sample.phase)];
  }
  EXPECT_LE(last, step->end);
  for (const workload::OperatorIndex at : seen.indices()) {
    const workload::Operator& op = run.graph[at];
    EXPECT_EQ(seen[at][0], 1) << "forward of " << op.name;
    if (op.parameters.empty()) continue;
    EXPECT_GE(seen[at][1], 1) << "backward of " << op.name;
    EXPECT_EQ(seen[at][2], 1) << "update of " << op.name;
  }
}

TEST(Executor, TheSumOfSeveralLossesBelongsToTheLastOperator) {
  const auto run = zoo_run("googlenet:input=64", 1);  // two auxiliary heads
  const auto step = executor_of(run)->step(Trace::kYes);
  ASSERT_TRUE(step);
  for (const OperatorSample& sample : step->samples) ASSERT_TRUE(sample.op.valid());
  EXPECT_TRUE(operators_of(run, *step));
}

TEST(Executor, BackwardRunsInReverse) {
  const auto run = zoo_run("vgg11:input=32", 1);
  const auto executor = executor_of(run);
  const auto step = executor->step(Trace::kYes);
  ASSERT_TRUE(step);
  workload::OperatorIndex last(run.graph.operators().size());
  for (const OperatorSample& sample : step->samples) {
    if (sample.phase != Phase::kBackward) continue;
    EXPECT_LE(sample.op, last) << run.graph[sample.op].name;
    last = sample.op;
  }
}

TEST(Executor, TheSameSeedGivesTheSameModel) {
  const auto run = zoo_run("lenet", 4);
  EXPECT_EQ(*executor_of(run)->compute_gradients(), *executor_of(run)->compute_gradients());
}

// Slow: one small model of every family really trains.
TEST(Executor, EveryFamilyTrains) {
  const char* models[] = {"alexnet:input=64",
                          "bert_tiny:seq=16,vocab=500",
                          "bert_tiny:seq=16,vocab=500,attention=fused",
                          "convnext_tiny:input=32",
                          "deepspeech:hidden=32,frames=20",
                          "deepspeech2:hidden=32,frames=40,layers=1",
                          "densenet121:input=32",
                          "dlrm:tables=3,rows=100",
                          "efficientnet_b0:input=32",
                          "efficientnet_lite0:input=32",
                          "efficientnet_v2_s:input=32",
                          "googlenet:input=64",
                          "gpt2:layers=1,hidden=64,heads=2,seq=16,vocab=500",
                          "inception_v3",
                          "lenet",
                          "tinyllama_1.1b:layers=1,hidden=64,heads=4,key_heads=2,mlp=128,seq=16,vocab=500",
                          "mlp",
                          "mnasnet0_5:input=32",
                          "mobilenet_v2:input=32",
                          "mobilenet_v3_small:input=32",
                          "nmt:hidden=32,vocab=500,seq=8",
                          "nmt:cell=gru,hidden=32,vocab=500,seq=8",
                          "randwire_small:input=64,width=16",
                          "regnet_y_400mf:input=32",
                          "resnet18:input=32",
                          "resnet20_cifar",
                          "rnn:cell=rnn,hidden=32,vocab=500,seq=8",
                          "shufflenet_v2_x0_5:input=32",
                          "squeezenet1_1:input=64",
                          "swin_t:input=224,hidden=24",
                          "transformer:layers=1,hidden=64,heads=2,vocab=500,seq=16",
                          "vae",
                          "vgg11:input=32",
                          "vit_b_16:input=32,layers=1"};
  for (const char* model : models) {
    SCOPED_TRACE(model);
    auto graph = workload::build_model(model);
    ASSERT_TRUE(graph) << graph.error().to_string();
    const workload::TrainingRun run{*graph->with_batch(2)};
    const auto executor = executor_of(run);
    ASSERT_NE(executor, nullptr);
    for (const Trace trace : {Trace::kNo, Trace::kYes}) {
      const auto step = executor->step(trace);
      ASSERT_TRUE(step) << step.error().to_string();
      EXPECT_TRUE(std::isfinite(step->loss));
    }
  }
}

TEST(Executor, LearnsRealImages) {
  const env::Env env = env::make_real_env();
  if (!env.files.exists(kFashionMnistFolder)) GTEST_SKIP() << kFashionMnistFolder << " is missing";
  const auto images = read_images(env.files, kFashionMnistFolder);
  ASSERT_TRUE(images) << images.error().to_string();
  auto run = zoo_run("lenet", 64);
  ExecutorOptions options;
  options.learning_rate = 0.01;
  const auto executor = executor_of(run, options);
  double loss = 0;
  for (int step = 0; step < 150; ++step) {
    ASSERT_TRUE((*images)->feed(*executor, run.graph, step));
    loss = executor->step(Trace::kNo)->loss;
  }
  EXPECT_LT(loss, 1.0);  // ten classes: 2.3 without learning
}

// The loss is the mean over samples of log Σ exp(score) − score of the right class.
TEST(Executor, ScoresAreWhatTheLossChoosesBetween) {
  const auto run = zoo_run("lenet", 8);
  const auto executor = executor_of(run);
  const auto images = make_up_images(50, 3, ImageSet::kTraining);
  const std::vector<std::uint64_t> samples = {1, 7, 7, 0, 49, 30, 31, 32};
  ASSERT_TRUE(images->feed_samples(*executor, run.graph, samples));
  const auto scores = executor->scores();
  ASSERT_TRUE(scores) << scores.error().to_string();
  ASSERT_EQ(scores->size(), 80u);
  double loss = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    double sum = 0;
    for (std::size_t c = 0; c < 10; ++c) sum += std::exp((*scores)[10 * i + c]);
    loss += std::log(sum) - (*scores)[10 * i + static_cast<std::size_t>(images->label(samples[i]))];
  }
  EXPECT_NEAR(*executor->compute_gradients(), loss / 8, 1e-5);
  EXPECT_EQ((*scores)[10], (*scores)[20]);  // the same sample twice
}

TEST(TrainingData, MadeUpImagesShareClassesButNotNoise) {
  const auto a = make_up_images(200, 5, ImageSet::kTraining), again = make_up_images(200, 5, ImageSet::kTraining);
  const auto test = make_up_images(200, 5, ImageSet::kTest);
  int same = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    EXPECT_EQ(a->label(i), again->label(i));
    EXPECT_LT(a->label(i), 10);
    same += a->label(i) == test->label(i) ? 1 : 0;
  }
  EXPECT_LT(same, 60);  // a tenth of 200 by chance
}

TEST(Executor, UnknownOperatorsAndPrecisionsAreRefusedByName) {
  auto run = zoo_run("lenet", 1);
  run.precision = Precision::kFp16;
  auto refused = make_executor(run, {}, env::make_real_env().clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(), "models are run in fp32, not fp16");

  workload::GraphBuilder g("odd");
  const workload::Value x = g.input("x", {1, 4});
  const workload::Value y = g.add(workload::OperatorKind::kOther, "fft", {x},
                                  workload::OtherAttributes{"FFT", {{0, 4}}, {}, workload::DataType::kFloat32});
  g.cross_entropy(g.linear(y, "fc", 2));
  refused = make_executor(workload::TrainingRun{*g.finish()}, {}, env::make_real_env().clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().to_string(), "operator fft (FFT) has no rule, so it cannot be run");
}

TEST(Executor, WrongNamesAndSizesAreErrors) {
  const auto run = one_weight(Optimizer::kSgd);
  const auto executor = executor_of(run);
  const float two[] = {1, 2};
  EXPECT_FALSE(executor->set_parameter("fc.weight", two));
  EXPECT_FALSE(executor->set_parameter("fc.bias", two));
  EXPECT_FALSE(executor->parameter("missing"));
  EXPECT_FALSE(executor->gradient("fc.weight"));  // none before the first backward
  EXPECT_FALSE(executor->set_input(1, two));
  EXPECT_FALSE(executor->target(7));
}

}  // namespace
}  // namespace orrery::profile
