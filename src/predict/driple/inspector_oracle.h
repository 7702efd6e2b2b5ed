#pragma once
// For tests: an inspector (neural/network.h) of one graph in plain loops over doubles, written from its equations
// alone.

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "predict/driple/node_graph.h"
#include "predict/neural/inspector_form.h"

namespace orrery::predict {

class InspectorOracle {
 public:
  using Vector = std::vector<double>;
  using Matrix = std::vector<Vector>;  // a row per node

  InspectorOracle(const NetworkOptions& options, const std::vector<float>& parameters) : options_(options) {
    auto at = parameters.begin();
    for (const InspectorParameter& one : inspector_parameters(options)) {
      named_[one.name] = Vector(at, at + one.count());
      at += one.count();
    }
  }

  Vector answer(const NodeGraph& graph, std::int64_t depth) const {
    const std::vector<std::vector<std::size_t>> joined = neighbours(graph);
    Matrix x;
    for (const GraphNode& node : graph.nodes) x.push_back({node.tensor_size, node.count, node.type});
    for (std::int64_t layer = 0; layer < depth; ++layer) {
      const Matrix y = graph_layer(layer == 0 ? "first" : "further", joined, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i].resize(hidden(), 0.0);
        x[i] = gru(x[i], y[i]);
      }
    }
    Vector value = read_out(x);
    for (const char* map : {"mlp.0", "mlp.1", "mlp.2"}) {
      value = linear(value, std::string(map) + ".weight", std::string(map) + ".bias");
      for (double& v : value) v = leaky(v, map[4] == '2' ? 0.01 : 0);
    }
    return value;
  }

 private:
  static double leaky(double v, double slope) { return v > 0 ? v : slope * v; }
  static double sigmoid(double v) { return 1 / (1 + std::exp(-v)); }
  std::size_t hidden() const { return static_cast<std::size_t>(options_.hidden); }
  const Vector& of(const std::string& name) const { return named_.at(name); }

  static std::vector<std::vector<std::size_t>> neighbours(const NodeGraph& graph) {
    std::vector<std::vector<std::size_t>> joined(graph.nodes.size());
    for (const auto& [a, b] : graph.edges) {
      joined[a].push_back(b);
      joined[b].push_back(a);
    }
    return joined;
  }

  Vector linear(const Vector& x, const std::string& weight, const std::string& bias = "") const {
    const Vector& w = of(weight);
    Vector y(w.size() / x.size(), 0.0);
    for (std::size_t r = 0; r < y.size(); ++r) {
      for (std::size_t c = 0; c < x.size(); ++c) y[r] += w[r * x.size() + c] * x[c];
      if (!bias.empty()) y[r] += of(bias)[r];
    }
    return y;
  }

  static void add(Vector& sum, const Vector& x, double times = 1) {
    sum.resize(x.size(), 0.0);
    for (std::size_t i = 0; i < x.size(); ++i) sum[i] += times * x[i];
  }

  Matrix graph_layer(const std::string& name, const std::vector<std::vector<std::size_t>>& joined,
                     const Matrix& x) const {
    Matrix y;
    for (std::size_t i = 0; i < x.size(); ++i) {
      switch (options_.graph_layer) {
        case GraphLayer::kGcn:
          y.push_back(gcn(name, joined, x, i));
          break;
        case GraphLayer::kGin:
          y.push_back(gin(name, joined, x, i));
          break;
        case GraphLayer::kGat:
          y.push_back(gat(name, joined, x, i));
          break;
        case GraphLayer::kMpnn:
          y.push_back(mpnn(name, joined, x, i));
          break;
      }
      for (double& v : y.back()) v = leaky(v, 0.01);
    }
    return y;
  }

  Vector gcn(const std::string& name, const std::vector<std::vector<std::size_t>>& joined, const Matrix& x,
             std::size_t i) const {
    const auto degree = [&](std::size_t node) { return 1 + static_cast<double>(joined[node].size()); };
    Vector sum;
    add(sum, x[i], 1 / degree(i));
    for (const std::size_t j : joined[i]) add(sum, x[j], 1 / std::sqrt(degree(i) * degree(j)));
    return linear(sum, name + ".weight", name + ".bias");
  }

  Vector gin(const std::string& name, const std::vector<std::vector<std::size_t>>& joined, const Matrix& x,
             std::size_t i) const {
    Vector sum;
    add(sum, x[i], 1 + of(name + ".epsilon")[0]);
    for (const std::size_t j : joined[i]) add(sum, x[j]);
    Vector inner = linear(sum, name + ".weight", name + ".bias");
    for (double& v : inner) v = leaky(v, 0);
    return linear(inner, name + ".weight2", name + ".bias2");
  }

  Vector gat(const std::string& name, const std::vector<std::vector<std::size_t>>& joined, const Matrix& x,
             std::size_t i) const {
    std::vector<std::size_t> sources = joined[i];
    sources.push_back(i);
    const std::size_t part = hidden() / kInspectorHeads;
    const Vector own = linear(x[i], name + ".weight");
    Vector result = of(name + ".bias");
    for (std::size_t head = 0; head < kInspectorHeads; ++head) {
      Vector raised;
      for (const std::size_t j : sources) {
        const Vector other = linear(x[j], name + ".weight");
        double score = 0;
        for (std::size_t k = head * part; k < (head + 1) * part; ++k) {
          score += own[k] * of(name + ".sink")[k] + other[k] * of(name + ".source")[k];
        }
        raised.push_back(std::exp(leaky(score, 0.2)));
      }
      const double total = std::accumulate(raised.begin(), raised.end(), 0.0);
      for (std::size_t s = 0; s < sources.size(); ++s) {
        const Vector other = linear(x[sources[s]], name + ".weight");
        for (std::size_t k = head * part; k < (head + 1) * part; ++k) result[k] += raised[s] / total * other[k];
      }
    }
    return result;
  }

  Vector mpnn(const std::string& name, const std::vector<std::vector<std::size_t>>& joined, const Matrix& x,
              std::size_t i) const {
    Vector sum(hidden(), 0.0);
    for (const std::size_t j : joined[i]) {
      add(sum, linear(x[i], name + ".sink"));
      add(sum, linear(x[j], name + ".source"));
    }
    Vector result = linear(x[i], name + ".weight", name + ".bias");
    const std::size_t part = hidden() / kInspectorHeads;
    for (std::size_t out = 0; out < hidden(); ++out) {
      const std::size_t tower = out / part;
      for (std::size_t in = 0; in < part; ++in) {
        result[out] += sum[tower * part + in] * of(name + ".towers")[(tower * part + in) * part + out % part];
      }
    }
    return result;
  }

  Vector gru(const Vector& x, const Vector& y) const {
    const Vector input = linear(x, "gru.input", "gru.input_bias"), state = linear(y, "gru.state", "gru.state_bias");
    Vector next;
    for (std::size_t i = 0; i < hidden(); ++i) {
      const double r = sigmoid(input[i] + state[i]);
      const double z = sigmoid(input[hidden() + i] + state[hidden() + i]);
      const double n = std::tanh(input[2 * hidden() + i] + r * state[2 * hidden() + i]);
      next.push_back((1 - z) * n + z * y[i]);
    }
    return next;
  }

  Vector read_out(const Matrix& x) const {
    Vector sum(hidden(), 0.0);
    for (const Vector& row : x) add(sum, row, options_.readout == Readout::kMean ? 1 / double(x.size()) : 1);
    if (options_.readout != Readout::kSet2Set) return sum;
    Vector q(hidden(), 0.0), cell = q, both(2 * hidden(), 0.0);
    for (std::int32_t step = 0; step < options_.length; ++step) {
      Vector gates = linear(both, "readout.input", "readout.input_bias");
      add(gates, linear(q, "readout.state", "readout.state_bias"));
      for (std::size_t i = 0; i < hidden(); ++i) {
        cell[i] = sigmoid(gates[hidden() + i]) * cell[i] + sigmoid(gates[i]) * std::tanh(gates[2 * hidden() + i]);
        q[i] = sigmoid(gates[3 * hidden() + i]) * std::tanh(cell[i]);
      }
      Vector attention;
      for (const Vector& row : x) {
        attention.push_back(std::exp(std::inner_product(row.begin(), row.end(), q.begin(), 0.0)));
      }
      const double total = std::accumulate(attention.begin(), attention.end(), 0.0);
      both = q;
      both.resize(2 * hidden(), 0.0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t k = 0; k < hidden(); ++k) both[hidden() + k] += attention[i] / total * x[i][k];
      }
    }
    return both;
  }

  NetworkOptions options_;
  std::map<std::string, Vector> named_;
};

}  // namespace orrery::predict
