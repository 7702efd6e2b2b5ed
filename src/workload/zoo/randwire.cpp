// RandWire (Xie et al. 2019): stages wired as random graphs of the Watts-Strogatz model WS(K, P).
//
// 1. N nodes on a ring, each joined to its K/2 neighbours on either side.
// 2. For i = 1 … K/2, going round the ring: with probability P the edge from a node to its i-th next node is replaced
//    by one to a random node, never to itself or where an edge is already.
// 3. Edges point from the lower to the higher number, so there is no cycle.
// A node adds its inputs, weighted by learned numbers between 0 and 1, then applies ReLU, a separable 3×3 convolution
// and batch norm. Nodes without inputs read the stage's input at stride 2; nodes without followers are averaged.

#include <fmt/format.h>

#include "base/random.h"
#include "workload/zoo/conv_blocks.h"
#include "workload/zoo/families.h"

namespace orrery::workload::zoo {

namespace {

// inputs[v]: the nodes that feed v, ascending.
using Wiring = std::vector<std::vector<std::size_t>>;

Wiring watts_strogatz(std::size_t nodes, std::size_t neighbours, double rewired, Random random) {
  std::vector<std::vector<bool>> joined(nodes, std::vector<bool>(nodes, false));
  std::vector<std::size_t> degree(nodes, 0);
  const auto set = [&](std::size_t a, std::size_t b, bool value) {
    joined[a][b] = joined[b][a] = value;
    degree[a] += value ? 1 : -1;
    degree[b] += value ? 1 : -1;
  };
  for (std::size_t distance = 1; distance <= neighbours / 2; ++distance) {
    for (std::size_t v = 0; v < nodes; ++v) set(v, (v + distance) % nodes, true);
  }
  for (std::size_t distance = 1; distance <= neighbours / 2; ++distance) {
    for (std::size_t v = 0; v < nodes; ++v) {
      const std::size_t next = (v + distance) % nodes;
      if (random.uniform() >= rewired || degree[v] >= nodes - 1) continue;
      std::size_t other = random.below(nodes);
      while (other == v || joined[v][other]) other = random.below(nodes);
      set(v, next, false);
      set(v, other, true);
    }
  }
  Wiring inputs(nodes);
  for (std::size_t v = 0; v < nodes; ++v) {
    for (std::size_t u = 0; u < v; ++u) {
      if (joined[u][v]) inputs[v].push_back(u);
    }
  }
  return inputs;
}

// ReLU, convolution, batch norm: the triplet of which everything here consists.
Value triplet(GraphBuilder& g, Value x, const Conv& conv) {
  return g.batch_norm(g.conv(g.relu(x, false), "conv", conv), "bn");
}

Value node(GraphBuilder& g, Value x, std::int64_t out, std::int64_t stride) {
  const std::int64_t in = g.dim(x, 1);
  x = g.relu(x, false);
  x = g.conv(x, "depthwise", {.out = in, .kernel = 3, .stride = stride, .padding = 1, .groups = in, .bias = false});
  return g.batch_norm(g.conv(x, "pointwise", {.out = out, .bias = false}), "bn");
}

Value aggregated(GraphBuilder& g, const std::vector<Value>& inputs) {
  if (inputs.size() == 1) return inputs[0];
  const Value weights =
      g.activate(OperatorKind::kSigmoid, g.parameter("weights", {static_cast<std::int64_t>(inputs.size())}));
  Value sum;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    const Value term = g.product(inputs[i], g.slice(weights, 0, place, place + 1));
    sum = i == 0 ? term : g.sum_of(sum, term);
  }
  return sum;
}

Value stage(GraphBuilder& g, Value x, const Wiring& wiring, std::int64_t channels) {
  std::vector<Value> outputs;
  std::vector<bool> is_read(wiring.size(), false);
  for (std::size_t v = 0; v < wiring.size(); ++v) {
    const auto scope = g.scope(fmt::format("node{}", v));
    std::vector<Value> inputs;
    for (const std::size_t u : wiring[v]) {
      inputs.push_back(outputs[u]);
      is_read[u] = true;
    }
    const bool is_first = inputs.empty();
    outputs.push_back(node(g, is_first ? x : aggregated(g, inputs), channels, is_first ? 2 : 1));
  }
  Value sum;
  std::size_t last = 0;
  for (std::size_t v = 0; v < wiring.size(); ++v) {
    if (is_read[v]) continue;
    sum = last++ == 0 ? outputs[v] : g.sum_of(sum, outputs[v]);
  }
  return last > 1 ? g.scaled(sum) : sum;
}

Result<TrainingGraph> build_randwire(const std::string& name, const OptionValues& p) {
  const std::int64_t nodes = p.integer("nodes"), neighbours = p.integer("neighbours"), width = p.integer("width");
  const bool is_small = p.text("regime") == "small";
  const std::int64_t fewest = is_small ? nodes : nodes / 2;
  if (neighbours % 2 != 0 || fewest <= neighbours) {
    return Error::invalid(fmt::format("model {}: neighbours {} must be even and below the {} nodes of a stage", name,
                                      neighbours, fewest));
  }
  if (width < 2) return Error::invalid(fmt::format("model {}: width {} must be at least 2", name, width));
  const Random random(static_cast<std::uint64_t>(p.integer("seed")));
  const auto wiring = [&](int stage_number, std::int64_t count) {
    return watts_strogatz(static_cast<std::size_t>(count), static_cast<std::size_t>(neighbours), p.number("rewired"),
                          random.split(static_cast<std::uint64_t>(stage_number)));
  };

  GraphBuilder g(name);
  Value x = image_input(g, p);
  x = g.conv(x, "conv1.conv", {.out = width / 2, .kernel = 3, .stride = 2, .padding = 1, .bias = false});
  x = g.batch_norm(x, "conv1.bn");
  {
    const auto scope = g.scope("conv2");
    x = is_small ? triplet(g, x, {.out = width, .kernel = 3, .stride = 2, .padding = 1, .bias = false})
                 : stage(g, x, wiring(2, nodes / 2), width);
  }
  for (int i = 3; i <= 5; ++i) {
    const auto scope = g.scope(fmt::format("conv{}", i));
    x = stage(g, x, wiring(i, nodes), width << (is_small ? i - 3 : i - 2));
  }
  {
    const auto scope = g.scope("classifier");
    x = pooled_features(g, triplet(g, x, {.out = 1280, .bias = false}));
  }
  g.cross_entropy(g.linear(x, "fc", p.integer("classes")));
  return g.finish();
}

}  // namespace

void register_randwire(Catalog& catalog) {
  catalog.family("randwire", "RandWire: stages wired as random graphs",
                 {choice_option("regime", "small", {"small", "regular"},
                                "small: three random stages; regular: four, twice as wide at the end"),
                  size_parameter("width", 78, "channels of the first stage; they double in each later one"),
                  integer_option("nodes", 32, "nodes of a stage").bounds(2, 512),
                  integer_option("neighbours", 4, "edges per node before rewiring, an even number").bounds(2, 64),
                  number_option("rewired", 0.75, "chance that an edge is rewired").bounds(0, 1),
                  integer_option("seed", 1, "of the random wiring").bounds(0, 1e15), image_parameter(),
                  channels_parameter(), classes_parameter()},
                 build_randwire);
  catalog.variant("randwire_small", "randwire");
  catalog.variant("randwire_regular", "randwire", "regime=regular,width=109");
}

}  // namespace orrery::workload::zoo
