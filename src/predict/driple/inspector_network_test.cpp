#include <cmath>
#include <gtest/gtest.h>
#include <map>

#include "predict/driple/inspector.h"
#include "predict/driple/inspector_oracle.h"
#include "predict/driple/random_graphs.h"
#include "predict/driple/resource_network.h"
#include "predict/neural/gradient_check.h"
#include "predict/neural/inspector_form.h"

namespace orrery::predict {
namespace {

constexpr GraphLayer kLayers[] = {GraphLayer::kGcn, GraphLayer::kGin, GraphLayer::kGat, GraphLayer::kMpnn};
constexpr Readout kReadouts[] = {Readout::kSet2Set, Readout::kSum, Readout::kMean};

NetworkOptions small(GraphLayer layer = GraphLayer::kGcn, Readout readout = Readout::kSet2Set) {
  NetworkOptions options;
  options.structure = Structure::kInspector;
  options.inputs = 3;
  options.outputs = 2;
  options.layers = 5;
  options.hidden = 8;
  options.length = 3;
  options.loss = Loss::kMse;
  options.graph_layer = layer;
  options.readout = readout;
  return options;
}

void add_graph(const NodeGraph& graph, std::int64_t depth, NetworkBatch& batch) {
  const auto first = static_cast<std::int64_t>(batch.graphs.size());
  const auto number = static_cast<std::int64_t>(batch.depths.size());
  for (const GraphNode& node : graph.nodes) {
    for (const double value : {node.tensor_size, node.count, node.type}) {
      batch.inputs.push_back(static_cast<float>(value));
    }
    batch.graphs.push_back(number);
  }
  for (const auto& [a, b] : graph.edges) {
    batch.sources.push_back(first + a);
    batch.sinks.push_back(first + b);
  }
  batch.depths.push_back(depth);
  batch.targets.push_back(static_cast<float>(0.2 + 0.1 * static_cast<double>(number)));
  batch.targets.push_back(static_cast<float>(0.9 - 0.1 * static_cast<double>(number)));
}

// Graphs of several sizes, and their depths.
std::vector<std::pair<NodeGraph, std::int64_t>> mixed_graphs() {
  return {
      {random_graph(4, 1, 1), 2}, {random_graph(7, 3, 2), 5}, {random_graph(1, 0, 3), 1}, {random_graph(6, 2, 4), 4}};
}

NetworkBatch mixed_batch() {
  NetworkBatch batch;
  for (const auto& [graph, depth] : mixed_graphs()) add_graph(graph, depth, batch);
  return batch;
}

std::string published_name(const std::string& name) {
  static const std::map<std::string, std::string> kNames = {
      {"first.weight", "conv_layers.0.W"},
      {"first.bias", "conv_layers.0.b"},
      {"further.weight", "conv_layers.1.W"},
      {"further.bias", "conv_layers.1.b"},
      {"gru.input", "gru.gru.weight_ih_l0"},
      {"gru.state", "gru.gru.weight_hh_l0"},
      {"gru.input_bias", "gru.gru.bias_ih_l0"},
      {"gru.state_bias", "gru.gru.bias_hh_l0"},
      {"readout.input", "graph_read_out.set2set.lstm.weight_ih_l0"},
      {"readout.state", "graph_read_out.set2set.lstm.weight_hh_l0"},
      {"readout.input_bias", "graph_read_out.set2set.lstm.bias_ih_l0"},
      {"readout.state_bias", "graph_read_out.set2set.lstm.bias_hh_l0"}};
  const auto found = kNames.find(name);
  if (found != kNames.end()) return found->second;
  const std::string what = name.substr(name.rfind('.'));  // mlp.0.weight
  return "graph_read_out.mlp.fully_connected." + name.substr(4, 1) + ".linear" + what;
}

// The parameters of a network by their published names, graph layers turned as they are published.
Checkpoint checkpoint_of(const NetworkOptions& options, const std::vector<float>& parameters) {
  Checkpoint checkpoint;
  std::size_t at = 0;
  for (const InspectorParameter& one : inspector_parameters(options)) {
    CheckpointTensor& tensor = checkpoint[published_name(one.name)];
    const std::span values(parameters.data() + at, static_cast<std::size_t>(one.count()));
    at += values.size();
    tensor.shape = one.sizes;
    tensor.values.assign(values.begin(), values.end());
    if (one.name != "first.weight" && one.name != "further.weight") continue;
    const auto rows = static_cast<std::size_t>(one.sizes[0]), columns = static_cast<std::size_t>(one.sizes[1]);
    tensor.shape = {one.sizes[1], one.sizes[0]};
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) tensor.values[c * rows + r] = values[r * columns + c];
    }
  }
  return checkpoint;
}

TEST(InspectorNetwork, IsTheInspectorOfThePlainImplementation) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const NodeGraph graph = random_graph(4 + seed, seed, seed);
    NetworkOptions options = small();
    options.seed = seed;
    options.layers = static_cast<std::int32_t>(graph.nodes.size() / 2);
    options.length = static_cast<std::int32_t>(graph.nodes.size());
    const auto network = make_network(options).value();
    const Inspector plain = Inspector::make(checkpoint_of(options, network->state().parameters)).value();
    NetworkBatch batch;
    add_graph(graph, options.layers, batch);
    const std::vector<float> found = network->predict(batch).value();
    const std::vector<double> expected = plain.predict(graph).value();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << "seed " << seed;
  }
}

// Graphs of several depths in one batch, every layer and readout.
TEST(InspectorNetwork, IsWhatItsEquationsSay) {
  const auto graphs = mixed_graphs();
  for (const GraphLayer layer : kLayers) {
    for (const Readout readout : kReadouts) {
      const auto network = make_network(small(layer, readout)).value();
      const InspectorOracle oracle(small(layer, readout), network->state().parameters);
      const std::vector<float> found = network->predict(mixed_batch()).value();
      for (std::size_t i = 0; i < found.size(); ++i) {
        const auto& [graph, depth] = graphs[i / 2];
        EXPECT_NEAR(found[i], oracle.answer(graph, depth)[i % 2], 1e-5)
            << to_string(layer) << " " << to_string(readout) << " " << i;
      }
    }
  }
}

// The published form: 3 features, 64 hidden, 12 outputs.
TEST(InspectorNetwork, HasAsManyParametersAsPublished) {
  NetworkOptions options = small();
  options.hidden = 64;
  options.outputs = 12;
  const auto count = [&] {
    std::int64_t all = 0, learning = 0;
    for (const InspectorParameter& one : inspector_parameters(options)) {
      all += one.count();
      learning += one.is_trainable ? one.count() : 0;
    }
    return std::pair(all, learning);
  };
  EXPECT_EQ(count(), std::pair(std::int64_t{92'236}, std::int64_t{92'236}));
  EXPECT_EQ(make_network(options).value()->state().parameters.size(), 92'236U);
  options.transfer = Transfer::kMlp;
  EXPECT_EQ(count().second, 13'196);
  options.transfer = Transfer::kHalf;
  EXPECT_EQ(count(), std::pair(std::int64_t{96'396}, std::int64_t{17'356}));
}

TEST(InspectorNetwork, AGraphIsAnsweredTheSameAloneAndAmongOthers) {
  for (const GraphLayer layer : kLayers) {
    for (const Readout readout : kReadouts) {
      const auto network = make_network(small(layer, readout)).value();
      const std::vector<float> together = network->predict(mixed_batch()).value();
      NetworkBatch alone;
      add_graph(random_graph(7, 3, 2), 5, alone);
      const std::vector<float> single = network->predict(alone).value();
      for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_NEAR(single[i], together[2 + i], 1e-5) << to_string(layer) << " " << to_string(readout);
      }
    }
  }
}

TEST(InspectorNetwork, HasTheGradientsOfItsLoss) {
  for (const GraphLayer layer : kLayers) {
    for (const Readout readout : kReadouts) {
      SCOPED_TRACE(std::string(to_string(layer)) + " " + std::string(to_string(readout)));
      const auto network = make_network(small(layer, readout)).value();
      expect_gradients(*network, mixed_batch(), 53, 0.01);
    }
  }
}

// What the released code gets wrong: a parameter that is called trainable has to get a gradient.
TEST(InspectorNetwork, EveryTrainableParameterGetsAGradientAndNoFrozenOneDoes) {
  for (const GraphLayer layer : kLayers) {
    for (const Transfer transfer : {Transfer::kNone, Transfer::kMlp, Transfer::kHalf}) {
      NetworkOptions options = small(layer);
      options.transfer = transfer;
      options.weight_decay = 0.1;
      const auto network = make_network(options).value();
      std::vector<float> gradients;
      network->gradients(mixed_batch(), gradients).value();
      const std::vector<float> before = network->state().parameters;
      network->learn(mixed_batch(), 1e-2).value();
      const std::vector<float> after = network->state().parameters;
      std::size_t at = 0;
      for (const InspectorParameter& one : inspector_parameters(options)) {
        double size = 0, moved = 0;
        for (std::int64_t i = 0; i < one.count(); ++i, ++at) {
          size += std::abs(gradients[at]);
          moved += std::abs(after[at] - before[at]);
        }
        const std::string what =
            std::string(to_string(layer)) + " " + std::string(to_string(transfer)) + " " + one.name;
        EXPECT_EQ(size > 0, one.is_trainable) << what;
        EXPECT_EQ(moved > 0, one.is_trainable) << what;
      }
      EXPECT_EQ(at, before.size());
    }
  }
}

TEST(InspectorNetwork, TransferBeginsWithTheAnswersOfItsSource) {
  for (const GraphLayer layer : kLayers) {
    const NetworkOptions from = small(layer);
    const auto source = make_network(from).value();
    source->learn(mixed_batch(), 1e-2).value();
    for (const Transfer transfer : {Transfer::kMlp, Transfer::kHalf}) {
      NetworkOptions to = from;
      to.transfer = transfer;
      const auto target = make_network(to).value();
      ASSERT_TRUE(target->set_state(transferred_state(from, source->state(), to).value()).has_value());
      const auto expected = source->predict(mixed_batch()).value(), found = target->predict(mixed_batch()).value();
      for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6);
    }
    NetworkOptions wider = from;
    wider.hidden = 12;
    EXPECT_FALSE(transferred_state(from, source->state(), wider).has_value());
  }
}

TEST(InspectorNetwork, LearnsAFewGraphsByHeart) {
  for (const GraphLayer layer : kLayers) {
    const auto network = make_network(small(layer)).value();
    const double before = network->learn(mixed_batch(), 5e-3).value();
    double after = before;
    for (int step = 0; step < 300; ++step) after = network->learn(mixed_batch(), 5e-3).value();
    EXPECT_LT(after, 0.25 * before) << to_string(layer);
  }
}

// How far apart the answers for two graphs of one form and other features are after this many layers.
double difference(Network& network, std::int64_t depth) {
  NetworkBatch batch;
  for (const std::uint64_t seed : {1, 2}) {
    NodeGraph graph = random_graph(6, 2, 1);
    Random random(seed);
    for (GraphNode& node : graph.nodes) node = {random.uniform(), random.uniform(), random.uniform()};
    add_graph(graph, depth, batch);
  }
  const std::vector<float> found = network.predict(batch).value();
  return std::abs(found[0] - found[2]) + std::abs(found[1] - found[3]);
}

// A randomly initialised GRU cell forgets its input: after 16 layers the features of nodes make no difference.
TEST(InspectorNetwork, TellsGraphsApartBehindManyLayers) {
  NetworkOptions options = small();
  options.layers = 50;
  options.hidden = 32;
  const auto network = make_network(options).value();
  EXPECT_GT(difference(*network, 50), 0.1 * difference(*network, 1));

  NetworkState drawn = network->state();
  Random random(1);
  std::size_t at = 0;
  for (const InspectorParameter& one : inspector_parameters(options)) {
    for (std::int64_t i = 0; i < one.count(); ++i, ++at) {
      if (one.name.starts_with("gru.")) drawn.parameters[at] = static_cast<float>(random.uniform(-0.177, 0.177));
    }
  }
  ASSERT_TRUE(network->set_state(drawn).has_value());
  EXPECT_LT(difference(*network, 16), 1e-4 * difference(*network, 1));
}

// Adam's first moments after one step are a tenth of the gradient.
TEST(InspectorNetwork, ShortensLongGradients) {
  NetworkOptions options = small();
  std::vector<float> gradients;
  make_network(options).value()->gradients(mixed_batch(), gradients).value();
  const auto length = [](const std::vector<float>& values) {
    double squares = 0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    return std::sqrt(squares);
  };
  for (const double share : {0.5, 2.0}) {
    options.gradient_max = share * length(gradients);
    const auto network = make_network(options).value();
    network->learn(mixed_batch(), 1e-3).value();
    EXPECT_NEAR(10 * length(network->state().first_moments), std::min(share, 1.0) * length(gradients), 1e-4);
  }
  options.gradient_max = -1;
  EXPECT_FALSE(make_network(options).has_value());
}

TEST(InspectorNetwork, RefusesDepthsAndWidthsThatDoNotFit) {
  const auto network = make_network(small()).value();
  NetworkBatch deep = mixed_batch();
  deep.depths[0] = 6;
  EXPECT_FALSE(network->predict(deep).has_value());
  NetworkBatch fewer = mixed_batch();
  fewer.depths.pop_back();
  EXPECT_FALSE(network->predict(fewer).has_value());
  NetworkOptions uneven = small();
  uneven.hidden = 10;
  EXPECT_FALSE(make_network(uneven).has_value());
}

}  // namespace
}  // namespace orrery::predict
