#include <cmath>
#include <gtest/gtest.h>

#include "base/random.h"
#include "predict/driple/layer_runs.h"
#include "predict/driple/resource_network.h"
#include "predict/driple/resource_trees.h"

namespace orrery::predict {
namespace {

// Chains of linear layers; what they use follows from their sizes: memory from all parameters (on a scale that is not
// skewed), activity from the work.
std::vector<ResourceExample> synthetic(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<ResourceExample> examples;
  for (std::size_t i = 0; i < count; ++i) {
    LayerRun run;
    run.batch = std::floor(std::exp2(random.uniform(0, 8)));
    double parameters = 0;
    for (std::uint64_t layer = 0; layer < 2 + random.below(5); ++layer) {
      const double width = std::floor(std::exp2(random.uniform(3, 9)));
      run.layers.push_back({"linear", width, width * (width + 1)});
      run.layers.push_back({"ReLU", width, 0});
      parameters += width * (width + 1);
    }
    const double activity = 1 / (1 + 1e7 / (run.batch * parameters));
    examples.push_back(
        {build_node_graph(run, OpFrequencies()), run.batch, {100 + 50 * std::log2(parameters), activity}});
  }
  return examples;
}

std::vector<const ResourceExample*> pointers(const std::vector<ResourceExample>& examples) {
  std::vector<const ResourceExample*> result;
  for (const ResourceExample& example : examples) result.push_back(&example);
  return result;
}

// Root of the mean squared error of a metric over its deviation: 1 is what the mean would give.
double error_of(const std::vector<ResourceExample>& examples, const std::vector<std::vector<double>>& predicted,
                std::size_t metric) {
  double mean = 0, squares = 0, deviation = 0;
  for (const ResourceExample& example : examples) mean += example.used[metric] / static_cast<double>(examples.size());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    squares += std::pow(predicted[i][metric] - examples[i].used[metric], 2);
    deviation += std::pow(examples[i].used[metric] - mean, 2);
  }
  return std::sqrt(squares / deviation);
}

TEST(ResourceTrees, LearnWhatFollowsFromSizes) {
  const auto train = synthetic(600, 1), test = synthetic(200, 2);
  const ResourceTrees trees = ResourceTrees::fit(pointers(train), {.repeats = 1}).value();
  std::vector<std::vector<double>> predicted;
  for (const ResourceExample& example : test) predicted.push_back(trees.predict(example));
  EXPECT_LT(error_of(test, predicted, 0), 0.2);
  EXPECT_LT(error_of(test, predicted, 1), 0.2);
  EXPECT_FALSE(ResourceTrees::fit({}, {}).has_value());
}

ResourceNetworkOptions quick() {
  ResourceNetworkOptions options;
  options.hidden = 16;
  options.steps = 400;
  options.learning_rate = 1e-2;
  options.check_every = 50;
  return options;
}

TEST(ResourceNetwork, LearnsIsKeptAndGoesOn) {
  const auto train = synthetic(200, 1), validation = synthetic(60, 2), test = synthetic(60, 3);
  const ResourceNetwork network = ResourceNetwork::fit(pointers(train), pointers(validation), quick()).value();
  const auto predicted = network.predict(pointers(test)).value();
  EXPECT_LT(error_of(test, predicted, 0), 0.6);
  EXPECT_LT(error_of(test, predicted, 1), 0.6);
  EXPECT_EQ(network.report().frozen, 0);

  const std::string bytes = network.to_bytes();
  EXPECT_EQ(ResourceNetwork::from_bytes(bytes)->predict(pointers(test)).value(), predicted);
  for (const std::size_t cut : {std::size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
    EXPECT_FALSE(ResourceNetwork::from_bytes(std::string_view(bytes).substr(0, cut)).has_value());
  }

  // Another setting: twice the memory, half the activity. A few examples and steps are enough to follow it.
  auto few = synthetic(30, 4), others = synthetic(60, 5);
  for (auto* examples : {&few, &others}) {
    for (ResourceExample& example : *examples) example.used = {2 * example.used[0], example.used[1] / 2};
  }
  ResourceNetworkOptions options = quick();
  options.steps = 100;
  for (const Transfer transfer : {Transfer::kMlp, Transfer::kHalf}) {
    const ResourceNetwork moved = network.transferred(pointers(few), pointers(few), transfer, options).value();
    EXPECT_GT(moved.report().frozen, moved.report().trained);
    EXPECT_LT(error_of(others, moved.predict(pointers(others)).value(), 0), 0.8) << to_string(transfer);
  }
}

TEST(ResourceNetwork, DepthsFollowTheRule) {
  EXPECT_EQ(depth_of(29, DepthRule::kHalf), 14);
  EXPECT_EQ(depth_of(29, DepthRule::kLog2), 4);
  EXPECT_EQ(depth_of(29, DepthRule::kNodes), 29);
  EXPECT_EQ(depth_of(1, DepthRule::kHalf), 1);
}

}  // namespace
}  // namespace orrery::predict
