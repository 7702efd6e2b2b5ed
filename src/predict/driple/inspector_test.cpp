#include "predict/driple/inspector.h"

#include <cmath>
#include <gtest/gtest.h>

#include "predict/driple/random_graphs.h"
#include "predict/driple/random_weights.h"

namespace orrery::predict {
namespace {

constexpr std::int64_t kHidden = 5, kOutputs = 3;

Checkpoint random_weights(std::uint64_t seed) {
  return random_inspector_weights(kHidden, kOutputs, seed);
}

// The equations of inspector.h one number at a time, in double precision.
class Slow {
 public:
  explicit Slow(const Checkpoint& weights) : weights_(weights) {}

  std::vector<double> answer(const NodeGraph& graph) const {
    const std::size_t nodes = graph.nodes.size();
    std::vector<std::vector<double>> x;
    for (const GraphNode& node : graph.nodes) x.push_back({node.tensor_size, node.count, node.type});
    for (std::size_t layer = 0; layer < std::max<std::size_t>(1, nodes / 2); ++layer) {
      const std::string name = layer == 0 ? "conv_layers.0." : "conv_layers.1.";
      const auto mixed = spread(graph, x);
      for (std::size_t i = 0; i < nodes; ++i) {
        std::vector<double> y;
        for (std::size_t j = 0; j < kHidden; ++j) {
          double sum = at(name + "b", j);
          for (std::size_t k = 0; k < x[i].size(); ++k) sum += mixed[i][k] * at(name + "W", k * kHidden + j);
          y.push_back(sum > 0 ? sum : 0.01 * sum);
        }
        x[i].resize(kHidden, 0.0);
        x[i] = gru(x[i], y);
      }
    }
    return mlp(set2set(x));
  }

 private:
  double at(const std::string& name, std::size_t i) const { return static_cast<double>(weights_.at(name).values[i]); }
  static double sigmoid(double value) { return 1 / (1 + std::exp(-value)); }

  static std::vector<std::vector<double>> spread(const NodeGraph& graph, const std::vector<std::vector<double>>& x) {
    const std::size_t nodes = graph.nodes.size();
    std::vector<std::vector<double>> joined(nodes, std::vector<double>(nodes, 0));
    for (std::size_t i = 0; i < nodes; ++i) joined[i][i] = 1;
    for (const auto& [a, b] : graph.edges) joined[a][b] = joined[b][a] = 1;
    std::vector<double> degree(nodes);
    for (std::size_t i = 0; i < nodes; ++i) {
      for (std::size_t j = 0; j < nodes; ++j) degree[i] += joined[i][j];
    }
    std::vector<std::vector<double>> result(nodes, std::vector<double>(x[0].size(), 0));
    for (std::size_t i = 0; i < nodes; ++i) {
      for (std::size_t j = 0; j < nodes; ++j) {
        const double share = joined[i][j] / std::sqrt(degree[i] * degree[j]);
        for (std::size_t k = 0; k < x[0].size(); ++k) result[i][k] += share * x[j][k];
      }
    }
    return result;
  }

  // Row `row` of a matrix times a vector, and its bias.
  double row(const std::string& weight, const std::string& bias, std::size_t row, const std::vector<double>& x) const {
    double sum = at(bias, row);
    for (std::size_t k = 0; k < x.size(); ++k) sum += at(weight, row * x.size() + k) * x[k];
    return sum;
  }

  std::vector<double> gru(const std::vector<double>& x, const std::vector<double>& y) const {
    const auto input = [&](std::size_t i) { return row("gru.gru.weight_ih_l0", "gru.gru.bias_ih_l0", i, x); };
    const auto state = [&](std::size_t i) { return row("gru.gru.weight_hh_l0", "gru.gru.bias_hh_l0", i, y); };
    std::vector<double> result;
    for (std::size_t i = 0; i < kHidden; ++i) {
      const double r = sigmoid(input(i) + state(i));
      const double z = sigmoid(input(kHidden + i) + state(kHidden + i));
      const double n = std::tanh(input(2 * kHidden + i) + r * state(2 * kHidden + i));
      result.push_back((1 - z) * n + z * y[i]);
    }
    return result;
  }

  std::vector<double> set2set(const std::vector<std::vector<double>>& x) const {
    const std::string lstm = "graph_read_out.set2set.lstm.";
    std::vector<double> both(2 * kHidden, 0.0), q(kHidden, 0.0), cell(kHidden, 0.0);
    for (std::size_t step = 0; step < x.size(); ++step) {
      const auto gate = [&](std::size_t number, std::size_t i) {
        return row(lstm + "weight_ih_l0", lstm + "bias_ih_l0", number * kHidden + i, both) +
               row(lstm + "weight_hh_l0", lstm + "bias_hh_l0", number * kHidden + i, q);
      };
      std::vector<double> next(kHidden);
      for (std::size_t i = 0; i < kHidden; ++i) {
        cell[i] = sigmoid(gate(1, i)) * cell[i] + sigmoid(gate(0, i)) * std::tanh(gate(2, i));
        next[i] = sigmoid(gate(3, i)) * std::tanh(cell[i]);
      }
      q = next;
      std::vector<double> read(kHidden, 0.0);
      double total = 0;
      for (const auto& node : x) {
        double score = 0;
        for (std::size_t i = 0; i < kHidden; ++i) score += node[i] * q[i];
        total += std::exp(score);
        for (std::size_t i = 0; i < kHidden; ++i) read[i] += std::exp(score) * node[i];
      }
      for (std::size_t i = 0; i < kHidden; ++i) {
        both[i] = q[i];
        both[kHidden + i] = read[i] / total;
      }
    }
    return both;
  }

  std::vector<double> mlp(std::vector<double> x) const {
    for (int layer = 0; layer < 3; ++layer) {
      const std::string name = "graph_read_out.mlp.fully_connected." + std::to_string(layer) + ".linear.";
      std::vector<double> next;
      for (std::size_t i = 0; i < weights_.at(name + "bias").values.size(); ++i) {
        const double sum = row(name + "weight", name + "bias", i, x);
        next.push_back(sum > 0 ? sum : (layer == 2 ? 0.01 * sum : 0));
      }
      x = next;
    }
    return x;
  }

  const Checkpoint& weights_;
};

TEST(Inspector, ComputesItsEquations) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const Checkpoint weights = random_weights(seed);
    const Inspector inspector = Inspector::make(weights).value();
    const NodeGraph graph = random_graph(1 + 3 * seed % 17, seed, seed);
    const std::vector<double> expected = Slow(weights).answer(graph);
    const std::vector<double> found = inspector.predict(graph).value();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 1e-5 + 1e-4 * std::abs(expected[i])) << "seed " << seed << " output " << i;
    }
  }
}

TEST(Inspector, DoesNotDependOnTheOrderOfNodes) {
  const Inspector inspector = Inspector::make(random_weights(3)).value();
  const NodeGraph graph = random_graph(9, 5, 4);
  NodeGraph turned;
  turned.nodes.assign(graph.nodes.rbegin(), graph.nodes.rend());
  for (const auto& [a, b] : graph.edges) turned.edges.emplace_back(8 - a, 8 - b);
  turned.edges = distinct_edges(std::move(turned.edges));
  const auto one = inspector.predict(graph).value(), other = inspector.predict(turned).value();
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], other[i], 1e-5);
}

TEST(Inspector, RefusesWeightsThatAreNotItsOwn) {
  EXPECT_FALSE(Inspector::make({}).has_value());
  Checkpoint lacking = random_weights(1);
  lacking.erase("gru.gru.bias_hh_l0");
  EXPECT_EQ(Inspector::make(lacking).error().message(), "the weights lack gru.gru.bias_hh_l0");
  Checkpoint other = random_weights(1);
  other["conv_layers.1.W"].shape = {5, 4};
  EXPECT_EQ(Inspector::make(other).error().message(), "conv_layers.1.W has the shape 5x4, not 5x5");
  const Inspector inspector = Inspector::make(random_weights(1)).value();
  EXPECT_FALSE(inspector.predict(NodeGraph()).has_value());
}

}  // namespace
}  // namespace orrery::predict
