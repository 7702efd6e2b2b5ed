#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "workload/cost.h"
#include "workload/graph_builder.h"
#include "workload/import/graph_json.h"
#include "workload/training_run.h"
#include "workload/traits.h"

namespace orrery::workload {
namespace {

TEST(ShapeTest, BadDimensionsAreNamed) {
  const std::int64_t zero[] = {4, 0, 2};
  EXPECT_EQ(Shape::make(zero).error().message(), "dimension 1 of [4, 0, 2] is 0; expected at least 1");
  const std::int64_t huge[] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
  EXPECT_EQ(Shape::make(huge).error().message(),
            "dimension 1 of [1099511627776, 1099511627776] makes the tensor larger than 2^48 elements");
}

TEST(ShapeTest, MakeNeverOverflows) {
  const bool holds = rc::check("any dimensions give a sound shape or an error", [](std::vector<std::int64_t> dims) {
    const auto shape = Shape::make(dims);
    if (!shape) return;
    RC_ASSERT(shape->elements() >= 1);
    RC_ASSERT(shape->elements() <= kMaxElements);
  });
  EXPECT_TRUE(holds);
}

TEST(ShapeTest, BroadcastFollowsNumPy) {
  EXPECT_EQ(*broadcast({8, 1, 6}, {7, 1}), (Shape{8, 7, 6}));
  EXPECT_EQ(broadcast({3}, {4}).error().message(),
            "shapes [3] and [4] do not match in dimension 1 from the end (3 and 4)");
}

std::string failure(GraphBuilder& g) {
  return g.finish().error().to_string();
}

TEST(InferTest, KernelLargerThanInputNamesOperatorAndDimension) {
  GraphBuilder g("m");
  g.conv(g.input("x", {1, 3, 4, 9}), "stem", {.out = 8, .kernel = 7, .padding = 1});
  EXPECT_EQ(
      failure(g),
      "model m: operator stem (conv2d): height: kernel covers 7 but the padded input is only 6 (input 4, padding 1)");
}

TEST(InferTest, ChannelsMustDivideByGroups) {
  GraphBuilder g("m");
  g.conv(g.input("x", {1, 6, 8, 8}), "mix", {.out = 8, .groups = 4});
  EXPECT_EQ(failure(g), "model m: operator mix (conv2d): channels 6 in and 8 out must both be divisible by groups 4");
}

TEST(InferTest, SizesThatOverflowAreRefused) {
  GraphBuilder g("m");
  g.linear(g.input("x", {1, std::int64_t{1} << 40}), "fc", std::int64_t{1} << 40);
  EXPECT_EQ(failure(g),
            "model m: operator fc (linear): parameter weight: dimension 1 of [1099511627776, 1099511627776] makes the "
            "tensor larger than 2^48 elements");
}

TEST(InferTest, ReshapeInfersTheBatchAndRefusesOtherSizes) {
  GraphBuilder g("m");
  const Value x = g.input("x", {1, 4, 6});
  EXPECT_EQ(g.shape(g.reshape(x, {-1, 2, 3})), (Shape{4, 2, 3}));
  g.reshape(x, {0, 5});
  EXPECT_EQ(failure(g), "model m: operator reshape_1 (reshape): [1, 4, 6] cannot be reshaped to [1, 5]");
}

TEST(InferTest, CeilModePoolingNeverStartsAWindowInThePadding) {
  // ceil((6 + 2·1 - 3) / 2) + 1 = 4 windows; the last starts at 3·2 = 6 of 7 padded rows, so it stays.
  GraphBuilder g("m");
  const Value x = g.input("x", {1, 1, 6, 6});
  EXPECT_EQ(g.shape(g.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = true})), (Shape{1, 1, 4, 4}));
  // ceil((2 - 1) / 3) + 1 = 2 windows; the second would start at row 3 of 2, so it is dropped.
  const Value y = g.input("y", {1, 1, 2, 2});
  EXPECT_EQ(g.shape(g.max_pool(y, {.kernel = 1, .stride = 3, .ceil_mode = true})), (Shape{1, 1, 1, 1}));
}

TEST(InferTest, OperatorsWithoutRulesKeepTheBatchOfTheirInput) {
  GraphBuilder g("m");
  const Value x = g.input("x", {1, 6});
  g.add(OperatorKind::kOther, "fft", {x}, OtherAttributes{"aten::fft", {{0, 4}}, {{3, 2}}, DataType::kFloat32});
  const auto graph = g.finish()->with_batch(5);
  EXPECT_EQ(graph->operators()[OperatorIndex(1)].outputs[0].shape, (Shape{5, 4}));
  EXPECT_EQ(graph->parameter_count(), 6);
}

TEST(InferTest, ArbitraryConvolutionsNeverCrash) {
  const bool holds = rc::check("any attributes give a graph or an error", [] {
    const auto number = [] {
      return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(-2, 40), rc::gen::arbitrary<std::int64_t>());
    };
    Operator op;
    op.name = "c";
    op.kind = *rc::gen::element(OperatorKind::kConv2d, OperatorKind::kConvTranspose2d);
    op.attributes = ConvAttributes{
        number(), {number(), number(), number(), number(), number(), number(), number(), number()}, number(), true};
    const TensorType input{Shape{2, 6, 9, 9}, DataType::kFloat32};
    const Status status = infer(op, std::span(&input, 1));
    if (status) RC_ASSERT(op.outputs.size() == 1U);
  });
  EXPECT_TRUE(holds);
}

// 2 samples, 3×8×8 → conv 5 channels 3×3 padding 1: 5·8·8·27 = 8640 multiply-accumulates a sample.
TrainingGraph small_network(std::int64_t batch) {
  GraphBuilder g("small");
  Value x = g.input("x", {1, 3, 8, 8});
  x = g.conv(x, "conv1", {.out = 5, .kernel = 3, .padding = 1});
  x = g.relu(x);
  x = g.conv(x, "conv2", {.out = 4, .kernel = 1, .bias = false});
  g.cross_entropy(g.linear(g.flatten(x), "fc", 10));
  return *g.finish()->with_batch(batch);
}

TEST(GraphTest, CountsParametersAndMultiplyAccumulates) {
  const TrainingGraph graph = small_network(2);
  EXPECT_EQ(graph.parameter_count(), (5 * 27 + 5) + 4 * 5 + (256 * 10 + 10));
  EXPECT_DOUBLE_EQ(graph.macs(), 2 * (8640.0 + 64 * 20 + 2560));
  EXPECT_EQ(graph.batch(), 2);
}

TEST(GraphTest, RunsForwardThenBackwardInReverseThenUpdates) {
  const TrainingGraph graph = small_network(1);
  std::string order;
  for (const PhaseStep& step : graph.execution_order()) {
    order += std::string(to_string(step.phase)).substr(0, 1) + ":" + graph[step.op].name + " ";
  }
  EXPECT_EQ(order,
            "f:x f:conv1 f:relu f:conv2 f:reshape f:fc f:cross_entropy "
            "b:cross_entropy b:fc b:reshape b:conv2 b:relu b:conv1 u:conv1 u:conv2 u:fc ");
}

TEST(GraphTest, RefusesWhatIsNotAGraph) {
  Operator op{.name = "a",
              .kind = OperatorKind::kRelu,
              .attributes = {},
              .inputs = {{OperatorIndex(0), 0}},
              .tied_to = {},
              .parameters = {},
              .outputs = {}};
  EXPECT_EQ(TrainingGraph::make("g", {op}).error().message(),
            "operator a: input 0:0 is not an output of an earlier operator");
  EXPECT_EQ(TrainingGraph::make("g", {}).error().message(), "graph g has no operators");
  Operator input{.name = "a",
                 .kind = OperatorKind::kInput,
                 .attributes = SourceAttributes{{Shape{1}, DataType::kFloat32}},
                 .inputs = {},
                 .tied_to = {},
                 .parameters = {},
                 .outputs = {}};
  EXPECT_EQ(TrainingGraph::make("g", {input, input}).error().message(), "two operators are named a");
  EXPECT_EQ(small_network(1).with_batch(0).error().message(), "batch 0: expected at least 1");
}

TEST(CostTest, BackwardOfAProductIsTwoProductsExceptAtTheFirstLayer) {
  const TrainingGraph graph = small_network(2);
  const auto flops = [&](int op, Phase phase) {
    return operator_cost(graph, {OperatorIndex(op), phase}, {}).matrix_flops.value();
  };
  EXPECT_DOUBLE_EQ(flops(1, Phase::kForward), 2 * 2 * 8640.0);
  EXPECT_DOUBLE_EQ(flops(1, Phase::kBackward), flops(1, Phase::kForward));  // the image needs no gradient
  EXPECT_DOUBLE_EQ(flops(3, Phase::kBackward), 2 * flops(3, Phase::kForward));
}

TEST(CostTest, BytesAreInputsOutputsAndParametersOnce) {
  const TrainingGraph graph = small_network(2);
  const OperatorCost cost = operator_cost(graph, {OperatorIndex(1), Phase::kForward}, {});
  EXPECT_DOUBLE_EQ(cost.read.value(), 2 * 3 * 64 * 4);
  EXPECT_DOUBLE_EQ(cost.written.value(), 2 * 5 * 64 * 4);
  EXPECT_DOUBLE_EQ(cost.parameters.value(), (5 * 27 + 5) * 4);
}

TEST(CostTest, UpdateMovesTheStatesOfTheOptimizer) {
  const TrainingGraph graph = small_network(1);
  const double weights = 256 * 10 + 10;
  for (const auto& [optimizer, tensors] : std::vector<std::pair<Optimizer, double>>{
           {Optimizer::kSgd, 3}, {Optimizer::kMomentum, 5}, {Optimizer::kAdam, 7}, {Optimizer::kAdamW, 7}}) {
    const OperatorCost cost = operator_cost(graph, {OperatorIndex(5), Phase::kUpdate}, {.optimizer = optimizer});
    EXPECT_DOUBLE_EQ(cost.parameters.value(), tensors * weights * 4) << to_string(optimizer);
  }
}

TEST(BuilderTest, TiedWeightsCountOnce) {
  GraphBuilder g("tied");
  const Value tokens = g.input("tokens", {1, 7}, DataType::kInt64);
  const Value embedded = g.embedding(tokens, "embed", 50, 16);
  g.cross_entropy(g.tied_linear(embedded, "head", embedded));
  const auto graph = g.finish();
  ASSERT_TRUE(graph) << graph.error().to_string();
  EXPECT_EQ(graph->parameter_count(), 50 * 16);
  EXPECT_DOUBLE_EQ(graph->macs(), 7.0 * 16 * 50);
}

TEST(BuilderTest, RecurrentParametersMatchTheUsualLayout) {
  // LSTM 10 → 20, two layers, both directions: 2·4·20·(10+20+2) + 2·4·20·(40+20+2) weights and biases.
  GraphBuilder g("lstm");
  const Value x = g.input("x", {1, 5, 10});
  const Value y = g.recurrent(OperatorKind::kLstm, x, "rnn", {.hidden = 20, .layers = 2, .bidirectional = true});
  EXPECT_EQ(g.shape(y), (Shape{1, 5, 40}));
  EXPECT_EQ(g.finish()->parameter_count(), 2 * 4 * 20 * (10 + 20 + 2) + 2 * 4 * 20 * (40 + 20 + 2));
}

TEST(BuilderTest, NamesAreUniqueAndScoped) {
  GraphBuilder g("names");
  Value x = g.input("x", {1, 4});
  {
    const auto block = g.scope("block");
    x = g.relu(g.relu(g.linear(x, "fc", 4)));
  }
  x = g.relu(x);
  const auto graph = g.finish();
  EXPECT_EQ(graph->operators()[OperatorIndex(2)].name, "block.relu");
  EXPECT_EQ(graph->operators()[OperatorIndex(3)].name, "block.relu_1");
  EXPECT_EQ(graph->operators()[OperatorIndex(4)].name, "relu");
}

TEST(TraitsTest, NamesAreUniqueAndParseBack) {
  for (int i = 0; i <= static_cast<int>(OperatorKind::kBinaryCrossEntropy); ++i) {
    const auto kind = static_cast<OperatorKind>(i);
    EXPECT_EQ(*parse_operator_kind(to_string(kind)), kind);
  }
  EXPECT_EQ(parse_operator_kind("conv2").error().message(),
            "unknown operator kind \"conv2\"; did you mean \"conv2d\"?");
}

TEST(TrainingRunTest, ImpossiblePlansAreNamed) {
  TrainingRun run{small_network(8)};
  run.parallelism.microbatches = 3;
  EXPECT_EQ(validate(run).error().message(), "batch 8 does not divide into 3 micro-batches");
  run.parallelism.microbatches = 1;
  run.parallelism.zero_stage = 4;
  EXPECT_EQ(validate(run).error().message(), "ZeRO stage is 4; expected 0 to 3");
  run.parallelism.zero_stage = 0;
  run.parallelism.pipeline = 100;
  EXPECT_EQ(validate(run).error().message(), "100 pipeline stages for a model of 7 operators");
}

// x → frozen linear → trained linear → loss: the frozen one has nothing to send a gradient to.
TEST(FrozenTest, FrozenParametersHaveNoBackwardNoUpdateAndNoGradients) {
  constexpr std::string_view kGraph = R"({"format": "orrery-graph", "version": 1, "name": "g", "operators": [
    {"name": "x", "kind": "input", "shape": [4, 8], "dtype": "float32"},
    {"name": "below", "kind": "linear", "inputs": ["x"], "out_features": 8, "frozen": true},
    {"name": "trained", "kind": "linear", "inputs": ["below"], "out_features": 8},
    {"name": "above", "kind": "linear", "inputs": ["trained"], "out_features": 8, "frozen": true},
    {"name": "loss", "kind": "cross_entropy", "inputs": ["above"]}]})";
  const TrainingGraph graph = parse_graph_json(kGraph).value();
  EXPECT_EQ(graph.parameter_count(), 3 * 72);
  EXPECT_FALSE(graph.needs_gradient(OperatorIndex(1)));
  EXPECT_TRUE(graph.needs_gradient(OperatorIndex(3)));
  int updates = 0;
  for (const PhaseStep& step : graph.execution_order()) updates += step.phase == Phase::kUpdate ? 1 : 0;
  EXPECT_EQ(updates, 1);
  const double product = 2.0 * 4 * 8 * 8;
  const auto flops = [&](int op) {
    return operator_cost(graph, {OperatorIndex(op), Phase::kBackward}, {}).matrix_flops.value();
  };
  EXPECT_EQ(flops(2), product) << "the weight's gradient: nothing below needs one";
  EXPECT_EQ(flops(3), product) << "the input's gradient: the weight needs none";
  EXPECT_EQ(trained_elements(graph[OperatorIndex(1)]), 0);
  EXPECT_EQ(trained_elements(graph[OperatorIndex(2)]), 72);
}

}  // namespace
}  // namespace orrery::workload
