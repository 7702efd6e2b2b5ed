#include "predict/analytic/analytic.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck.h>

#include "predict/analytic/activations.h"
#include "predict/analytic/communication.h"
#include "predict/analytic/roofline.h"
#include "predict/analytic/stages.h"
#include "predict/analytic/tensor_parallel.h"
#include "workload/graph_builder.h"
#include "workload/zoo/zoo.h"

namespace orrery::predict {
namespace {

using hardware::Device;
using hardware::Placement;
using workload::GraphBuilder;
using workload::OperatorIndex;
using workload::Phase;
using workload::TrainingGraph;
using workload::TrainingRun;
using workload::Value;

TrainingRun run_of(const std::string& model, std::int64_t batch) {
  return TrainingRun{*workload::build_model(model)->with_batch(batch)};
}

Placement on(const std::string& device, int devices = 1, int per_machine = 8) {
  return *hardware::make_placement(device, devices, std::min(devices, per_machine));
}

Prediction predict(const TrainingRun& run, const Placement& placement) {
  auto prediction = AnalyticPredictor().predict(run, placement);
  EXPECT_TRUE(prediction) << prediction.error().to_string();
  return *prediction;
}

const std::vector<std::string> kModels = {"resnet18", "resnet50", "alexnet", "resnext50_32x4d", "resnet20_cifar"};

TEST(ActivationsTest, KeepsWhatBackwardNeedsAndNoMore) {
  // [1,8] → linear 4 → relu in place → linear 2 → loss, fp32.
  // Saved: input 8 (first linear), relu output 4 (relu and second linear, one storage), logits 2 (loss) + 2 log-probs.
  // The scalar loss lives too: 8 + 4 + 2 + 2 + 1 = 17 numbers.
  GraphBuilder g("mlp");
  Value x = g.input("x", {1, 8});
  x = g.relu(g.linear(x, "a", 4));
  g.cross_entropy(g.linear(x, "b", 2));
  const TrainingGraph graph = *g.finish();
  const ActivationMemory memory = activation_memory(graph, {});
  EXPECT_DOUBLE_EQ(memory.saved.value(), 17 * 4);
  // Backward peaks in its first step: the gradient of the logits (2) is added while everything saved is still there.
  EXPECT_DOUBLE_EQ(memory.peak.value(), 19 * 4);
}

TEST(ActivationsTest, AddAndViewsKeepNothing) {
  // x + x reshaped: add saves nothing, the view shares; only the input of the linear layer (16) is kept.
  GraphBuilder g("views");
  const Value x = g.input("x", {1, 4, 4});
  const Value y = g.reshape(g.sum_of(x, x), {0, 16});
  g.cross_entropy(g.linear(y, "fc", 2));
  const ActivationMemory memory = activation_memory(*g.finish(), {});
  EXPECT_DOUBLE_EQ(memory.saved.value(), (16 + 2 + 2 + 1) * 4);
}

TEST(CommunicationTest, CollectivesFollowTheirFormulas) {
  hardware::Link link;
  link.bandwidth = BytesPerSecond(1e9);
  link.efficiency = 1;
  link.latency = Seconds(1e-5);
  // Ring of 4, 100 MB: 6 messages of latency and 2·3/4 of the data.
  EXPECT_NEAR(ring_all_reduce(link, 4, Bytes(1e8)).value(), 6e-5 + 0.15, 1e-12);
  EXPECT_NEAR(tree_all_reduce(link, 8, Bytes(1e8)).value(), 6e-5 + 0.2, 1e-12);
  // 4 workers on 2 servers: every server link carries twice the data, pushed and pulled.
  EXPECT_NEAR(parameter_server_exchange(link, 4, 2, Bytes(1e8)).value(), 2 * (1e-5 + 0.2), 1e-12);
  EXPECT_NEAR(all_gather(link, 4, Bytes(1e8)).value(), 3e-5 + 0.075, 1e-12);
  EXPECT_EQ(ring_all_reduce(link, 1, Bytes(1e8)), Seconds(0));
}

TEST(CommunicationTest, HierarchicalBeatsAFlatRingAcrossSlowNetworks) {
  Placement placement = on("V100", 32);
  workload::Parallelism flat{.data = 32};
  workload::Parallelism layered{.data = 32, .exchange = workload::GradientExchange::kHierarchical};
  const Bytes small = mebibytes(1);
  EXPECT_LT(gradient_exchange(layered, placement, small), gradient_exchange(flat, placement, small));
}

TEST(TensorParallelTest, TwoLinearLayersNeedOneAllReduceEachWay) {
  // Column-parallel, then row-parallel: forward all-reduces the output of b (6 numbers), backward the input of a (8).
  GraphBuilder g("mlp");
  Value x = g.input("x", {1, 5});
  x = g.linear(x, "stem", 8);  // 0 input, 1 stem: 8 outputs divide by 2, so it is split as well
  x = g.relu(x);               // 2
  x = g.linear(x, "b", 6);     // 3
  g.cross_entropy(x);          // 4
  const TensorSplit split = split_tensors(*g.finish(), 2);
  EXPECT_EQ(split.work, (std::vector<double>{1, 0.5, 0.5, 0.5, 1}));
  EXPECT_EQ(split.output, (std::vector<double>{1, 0.5, 0.5, 1, 1}));
  EXPECT_EQ(split.forward_all_reduce, (std::vector<double>{0, 0, 0, 6, 0}));
  // The data needs no gradient, so nothing is reduced in backward.
  EXPECT_EQ(split.backward_all_reduce, (std::vector<double>{0, 0, 0, 0, 0}));
}

TEST(StagesTest, CutsAsWellAsTryingEverything) {
  const bool holds = rc::check("the slowest stage is as fast as brute force finds", [] {
    const auto weights = *rc::gen::container<std::vector<int>>(9, rc::gen::inRange(1, 50));
    const int count = *rc::gen::inRange(1, 6);
    workload::ByOperator<Seconds> time;
    for (const int w : weights) time.emplace_back(w);
    // best[k][n]: slowest stage of the first n operators in k stages.
    const std::size_t n = weights.size();
    std::vector<std::vector<double>> best(static_cast<std::size_t>(count) + 1,
                                          std::vector<double>(n + 1, std::numeric_limits<double>::infinity()));
    best[0][0] = 0;
    for (std::size_t k = 1; k <= static_cast<std::size_t>(count); ++k) {
      for (std::size_t end = 1; end <= n; ++end) {
        double last = 0;
        for (std::size_t begin = end; begin-- > 0;) {
          last += weights[begin];
          best[k][end] = std::min(best[k][end], std::max(best[k - 1][begin], last));
        }
      }
    }
    const auto stages = cut_into_stages(time, count, 4);
    RC_ASSERT(stages.size() == static_cast<std::size_t>(count));
    double slowest = 0;
    OperatorIndex expected_first(0);
    for (const Stage& stage : stages) {
      RC_ASSERT(stage.first == expected_first);
      RC_ASSERT(stage.last > stage.first);
      expected_first = stage.last;
      double sum = 0;
      for (const OperatorIndex at : stage.operators()) sum += time[at].value();
      slowest = std::max(slowest, sum);
    }
    RC_ASSERT(expected_first == OperatorIndex(n));
    RC_ASSERT(std::abs(slowest - best[static_cast<std::size_t>(count)][n]) < 1e-6);
  });
  EXPECT_TRUE(holds);
}

TEST(AnalyticTest, MorePeakOrBandwidthNeverSlowsAPrediction) {
  const bool holds = rc::check("monotone in every peak", [] {
    const std::string model = *rc::gen::elementOf(kModels);
    const std::int64_t batch = *rc::gen::element<std::int64_t>(1, 4, 32);
    const auto devices = hardware::all_devices();
    Device base = devices[*rc::gen::inRange<std::size_t>(0, devices.size())];
    Device faster = base;
    const double factor = 1 + *rc::gen::inRange(1, 300) / 100.0;
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        faster.fp32 = faster.fp32 * factor;
        break;
      case 1:
        faster.fp16 = faster.fp16 * factor;
        faster.tf32 = faster.tf32 * factor;
        faster.bf16 = faster.bf16 * factor;
        break;
      case 2:
        faster.memory_bandwidth = faster.memory_bandwidth * factor;
        break;
      default:
        faster.fp32_vector = faster.fp32_vector * factor;
        faster.fp32 = std::max(faster.fp32, faster.fp32_vector);
        break;
    }
    TrainingRun run = run_of(model, batch);
    run.precision = *rc::gen::element(Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16);
    Placement slow = on("V100"), fast = slow;
    slow.device = &base;
    fast.device = &faster;
    RC_ASSERT(predict(run, fast).iteration.value <= predict(run, slow).iteration.value * (1 + 1e-9));
  });
  EXPECT_TRUE(holds);
}

TEST(AnalyticTest, MemoryGrowsWithTheBatch) {
  for (const std::string& model : kModels) {
    Bytes before(0);
    for (const std::int64_t batch : {1, 2, 3, 8, 32, 128}) {
      const Bytes memory = predict(run_of(model, batch), on("A100")).memory.value;
      EXPECT_GT(memory, before) << model << " batch " << batch;
      before = memory;
    }
  }
}

TEST(AnalyticTest, ZeroStagesNeverNeedMoreMemoryThanTheStageBefore) {
  const bool holds = rc::check("memory falls with the ZeRO stage", [] {
    TrainingRun run = run_of(*rc::gen::elementOf(kModels), *rc::gen::inRange<std::int64_t>(1, 64));
    run.optimizer =
        *rc::gen::element(workload::Optimizer::kSgd, workload::Optimizer::kMomentum, workload::Optimizer::kAdam);
    run.precision = *rc::gen::element(Precision::kFp32, Precision::kFp16);
    run.parallelism.data = *rc::gen::inRange(1, 65);
    const Placement placement = on("A100", run.parallelism.data);
    Bytes before(std::numeric_limits<double>::infinity());
    for (int stage = 0; stage <= 3; ++stage) {
      run.parallelism.zero_stage = stage;
      const Bytes memory = predict(run, placement).memory.value;
      RC_ASSERT(memory <= before);
      before = memory;
    }
  });
  EXPECT_TRUE(holds);
}

TEST(AnalyticTest, PartsAddUpToTheIteration) {
  const bool holds = rc::check("under every plan", [] {
    TrainingRun run = run_of(*rc::gen::elementOf(kModels), 32);
    workload::Parallelism& p = run.parallelism;
    p.data = *rc::gen::element(1, 2, 16);
    p.tensor = *rc::gen::element(1, 2, 4);
    p.pipeline = *rc::gen::element(1, 2, 4);
    p.microbatches = *rc::gen::element(1, 4, 8);
    p.zero_stage = *rc::gen::inRange(0, 4);
    const Prediction made = predict(run, on("V100", p.devices()));
    const Seconds sum = made.forward + made.backward + made.update + made.exposed_communication + made.pipeline_bubble;
    RC_ASSERT(std::abs(sum / made.iteration.value - 1) < 1e-9);
    RC_ASSERT(std::abs(made.samples_per_second * made.iteration.value.value() / (32 * p.data) - 1) < 1e-9);
    RC_ASSERT(made.iteration.low < made.iteration.value && made.iteration.value < made.iteration.high);
    RC_ASSERT(!made.calibrated);
  });
  EXPECT_TRUE(holds);
}

TEST(AnalyticTest, PipelineBubbleFollowsFromStagesAndMicroBatches) {
  TrainingRun run = run_of("resnet50", 32);
  run.parallelism.pipeline = 4;
  run.parallelism.microbatches = 8;
  const Prediction p = predict(run, on("V100", 4));
  // 8 micro-batches and 3 slots of filling: the bubble is 3/8 of the time the slowest stage is busy, the transfers to
  // its neighbours included.
  const Seconds busy = p.forward + p.backward + p.exposed_communication;
  EXPECT_NEAR(p.pipeline_bubble / busy, 3.0 / 8, 1e-6);
}

TEST(AnalyticTest, FetchingParametersIsNetworkTime) {
  TrainingRun run = run_of("alexnet", 1);
  run.parallelism.data = 8;
  const Placement slow = *hardware::make_placement("V100", 8, 1, {.inside = {}, .between = "1G"});
  const Prediction whole = predict(run, slow);
  run.parallelism.zero_stage = 3;
  const Prediction fetched = predict(run, slow);
  // Launches hide behind the wait, so forward itself may even get a little shorter.
  EXPECT_LE(fetched.forward, whole.forward);
  EXPECT_NEAR(fetched.forward / whole.forward, 1, 0.02);
  EXPECT_GT(fetched.exposed_communication, whole.exposed_communication);
}

TEST(AnalyticTest, SplittingTheModelSavesMemory) {
  const TrainingRun whole = run_of("resnet50", 64);
  TrainingRun tensor = whole, pipeline = whole;
  tensor.parallelism.tensor = 4;
  pipeline.parallelism.pipeline = 4;
  pipeline.parallelism.microbatches = 16;
  const Bytes alone = predict(whole, on("V100")).memory.value;
  EXPECT_LT(predict(tensor, on("V100", 4)).memory.value, alone);
  EXPECT_LT(predict(pipeline, on("V100", 4)).memory.value, alone);
}

TEST(AnalyticTest, SlowNetworksShowAsExposedCommunication) {
  TrainingRun run = run_of("alexnet", 32);
  run.parallelism.data = 4;
  const Placement fast = *hardware::make_placement("V100", 4, 1, {.inside = {}, .between = "100G"});
  const Placement slow = *hardware::make_placement("V100", 4, 1, {.inside = {}, .between = "1G"});
  EXPECT_GT(predict(run, slow).exposed_communication, predict(run, fast).exposed_communication * 10);
}

TEST(AnalyticTest, ImpossibleRunsAreErrors) {
  TrainingRun run = run_of("resnet18", 4);
  run.parallelism.data = 2;
  EXPECT_EQ(AnalyticPredictor().predict(run, on("V100", 4)).error().message(),
            "2 data × 1 tensor × 1 pipeline parallel needs 2 devices, not 4");
}

TEST(AnalyticTest, SaysWhenItDoesNotFit) {
  const Prediction p = predict(run_of("resnet50", 512), on("T4"));
  EXPECT_FALSE(p.fits);
  ASSERT_FALSE(p.notes.empty());
  EXPECT_EQ(p.notes.back(), "does not fit: try a smaller batch, more micro-batches or ZeRO");
}

}  // namespace
}  // namespace orrery::predict
