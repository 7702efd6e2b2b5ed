#include "predict/neural/network.h"

#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"
#include "predict/neural/gradient_check.h"
#include "predict/neural/weights.h"

namespace orrery::predict {
namespace {

constexpr Structure kStructures[] = {Structure::kBiLstm,      Structure::kLstm, Structure::kGru,       Structure::kRnn,
                                     Structure::kTransformer, Structure::kGcn,  Structure::kAttention, Structure::kMlp};

NetworkOptions small(Structure structure) {
  NetworkOptions options;
  options.structure = structure;
  options.inputs = 3;
  options.outputs = 2;
  options.layers = 2;
  options.hidden = 12;
  options.length = 4;
  options.edge_inputs = structure == Structure::kAttention ? 1 : 0;
  options.widths = {16, 16};
  return options;
}

// Eight rows of three numbers: two sequences of four, or two graphs of four nodes in a chain. Graphs have one answer
// each, everything else one per row.
NetworkBatch batch_for(Structure structure, std::uint64_t seed) {
  Random random(seed);
  NetworkBatch batch;
  for (int i = 0; i < 24; ++i) batch.inputs.push_back(static_cast<float>(random.normal()));
  const int answers = structure == Structure::kAttention ? 2 : 8;
  for (int i = 0; i < 2 * answers; ++i) batch.targets.push_back(static_cast<float>(random.normal()));
  for (std::int64_t row = 0; row < 8; ++row) {
    batch.graphs.push_back(row / 4);
    if (row % 4 == 3) continue;
    batch.sources.push_back(row);
    batch.sinks.push_back(row + 1);
    batch.edge_inputs.push_back(static_cast<float>(random.normal()));
  }
  return batch;
}

class EveryStructure : public ::testing::TestWithParam<Structure> {};

TEST_P(EveryStructure, LearnsAFewExamplesByHeart) {
  const auto network = make_network(small(GetParam())).value();
  const NetworkBatch batch = batch_for(GetParam(), 1);
  const double before = network->learn(batch, 5e-3).value();
  double after = before;
  for (int step = 0; step < 300; ++step) after = network->learn(batch, 1e-2).value();
  // A node of a graph network sees itself only as part of a mean with its neighbours.
  EXPECT_LT(after, (GetParam() == Structure::kGcn ? 0.45 : 0.25) * before);
}

TEST_P(EveryStructure, IsTheSameForTheSameSeedAndGoesOnFromItsState) {
  const auto one = make_network(small(GetParam())).value();
  const auto other = make_network(small(GetParam())).value();
  for (std::uint64_t step = 0; step < 5; ++step) {
    EXPECT_EQ(one->learn(batch_for(GetParam(), step), 1e-2).value(),
              other->learn(batch_for(GetParam(), step), 1e-2).value());
  }
  NetworkOptions elsewhere = small(GetParam());
  elsewhere.seed = 9;
  const auto third = make_network(elsewhere).value();
  EXPECT_NE(third->state().parameters, make_network(small(GetParam())).value()->state().parameters);
  ASSERT_TRUE(third->set_state(one->state()).has_value());
  third->learn(batch_for(GetParam(), 7), 1e-2).value();
  one->learn(batch_for(GetParam(), 7), 1e-2).value();
  EXPECT_EQ(one->state().parameters, third->state().parameters);
  EXPECT_EQ(one->state().second_moments, third->state().second_moments);
}

TEST_P(EveryStructure, HasTheGradientsOfItsLoss) {
  NetworkOptions options = small(GetParam());
  options.loss = Loss::kMse;
  const auto network = make_network(options).value();
  expect_gradients(*network, batch_for(GetParam(), 3), 41, 0.02);
}

TEST_P(EveryStructure, RefusesBatchesThatDoNotFit) {
  const auto network = make_network(small(GetParam())).value();
  NetworkBatch cut = batch_for(GetParam(), 1);
  cut.inputs.pop_back();
  EXPECT_FALSE(network->predict(cut).has_value());
  NetworkBatch fewer = batch_for(GetParam(), 1);
  fewer.targets.pop_back();
  EXPECT_FALSE(network->learn(fewer, 1e-3).has_value());
  NetworkBatch astray = batch_for(GetParam(), 1);
  astray.sinks.front() = 8;
  EXPECT_FALSE(network->predict(astray).has_value());
  NetworkBatch not_a_number = batch_for(GetParam(), 1);
  not_a_number.targets.front() = std::nanf("");
  const NetworkState before = network->state();
  EXPECT_FALSE(network->learn(not_a_number, 1e-3).has_value());
  EXPECT_EQ(network->state().parameters, before.parameters);
  NetworkState short_state = before;
  short_state.first_moments.pop_back();
  EXPECT_FALSE(network->set_state(short_state).has_value());
}

INSTANTIATE_TEST_SUITE_P(Networks, EveryStructure, ::testing::ValuesIn(kStructures),
                         [](const auto& of) { return std::string(to_string(of.param)); });

// Weights 1 and 0: the second answer's target does not matter. |answer − target| is averaged over one answer.
TEST(Network, LeavesPaddingOutOfTheLoss) {
  NetworkOptions options = small(Structure::kMlp);
  options.outputs = 1;
  const auto network = make_network(options).value();
  NetworkBatch batch;
  batch.inputs = {1, 2, 3, 4, 5, 6};
  const float answer = network->predict(batch).value()[0];
  batch.targets = {answer + 0.5F, 1000};
  batch.weights = {1, 0};
  std::vector<float> gradients;
  EXPECT_NEAR(network->gradients(batch, gradients).value(), 0.5, 1e-6);
  batch.weights = {3, 0};
  EXPECT_NEAR(network->gradients(batch, gradients).value(), 1.5, 1e-6);
}

// The published form has 387,818 parameters: four layers, 66 inputs, 66 hidden, both directions, two outputs.
TEST(Network, HasAsManyParametersAsPublished) {
  NetworkOptions options;
  options.inputs = options.hidden = 66;
  options.outputs = 2;
  options.layers = 4;
  options.length = 12;
  EXPECT_EQ(make_network(options).value()->state().parameters.size(), 387'818U);
}

TEST(Network, DropsOnlyWhileItLearns) {
  NetworkOptions options = small(Structure::kMlp);
  options.dropout = 0.5;
  const auto network = make_network(options).value();
  const NetworkBatch batch = batch_for(Structure::kMlp, 1);
  EXPECT_EQ(network->predict(batch).value(), network->predict(batch).value());
  std::vector<float> dropped, kept;
  network->gradients(batch, dropped).value();
  options.dropout = 0;
  make_network(options).value()->gradients(batch, kept).value();
  EXPECT_NE(dropped, kept);
}

TEST(Network, OptionsSurviveBeingWrittenAndNonsenseIsRefused) {
  NetworkOptions options = small(Structure::kMlp);
  options.dropout = 0.2;
  ByteWriter out;
  write_options(options, out);
  ByteReader in(out.bytes());
  const NetworkOptions again = read_options(in).value();
  ByteWriter out_again;
  write_options(again, out_again);
  EXPECT_EQ(out.bytes(), out_again.bytes());
  for (auto change : {+[](NetworkOptions& o) { o.layers = 0; }, +[](NetworkOptions& o) { o.widths.clear(); },
                      +[](NetworkOptions& o) {
                        o.hidden = 60'000;
                        o.layers = 60;
                      },
                      +[](NetworkOptions& o) { o.dropout = 1; }, +[](NetworkOptions& o) { o.adam_epsilon = 0; }}) {
    NetworkOptions wrong = options;
    change(wrong);
    EXPECT_FALSE(make_network(wrong).has_value());
  }
}

}  // namespace
}  // namespace orrery::predict
