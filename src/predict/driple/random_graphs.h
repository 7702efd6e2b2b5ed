#pragma once
// Graphs for tests.

#include "base/random.h"
#include "predict/driple/node_graph.h"

namespace orrery::predict {

// A random tree and `more` edges: connected. Features are drawn from [0, 1).
inline NodeGraph random_graph(std::size_t nodes, std::size_t more, std::uint64_t seed) {
  Random random(seed);
  NodeGraph graph;
  for (std::size_t i = 0; i < nodes; ++i) graph.nodes.push_back({random.uniform(), random.uniform(), random.uniform()});
  const auto add = [&](std::uint64_t a, std::uint64_t b) {
    graph.edges.emplace_back(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b));
  };
  for (std::size_t i = 1; i < nodes; ++i) add(i, random.below(i));
  for (std::size_t i = 0; i < more; ++i) add(random.below(nodes), random.below(nodes));
  graph.edges = distinct_edges(std::move(graph.edges));
  return graph;
}

}  // namespace orrery::predict
