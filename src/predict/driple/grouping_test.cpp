#include "predict/driple/grouping.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <rapidcheck.h>
#include <set>

#include "predict/driple/random_graphs.h"

namespace orrery::predict {
namespace {

// The same procedure from its description, slowly: nodes and sums are counted anew at every visit.
std::vector<std::uint32_t> slow_fluid(const NodeGraph& graph, const FluidOptions& options) {
  Random random(options.seed);
  std::vector<std::uint32_t> order(graph.nodes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  const auto shuffle = [&] {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  };
  shuffle();
  std::map<std::uint32_t, std::uint32_t> of;
  for (std::uint32_t group = 0; group < options.groups; ++group) of[order[group]] = group;
  const auto joined = [&](std::uint32_t a, std::uint32_t b) {
    return std::count(graph.edges.begin(), graph.edges.end(), GraphEdge(std::minmax(a, b))) > 0;
  };
  bool changed = true;
  for (int sweep = 0; changed && sweep < options.sweeps_max; ++sweep) {
    changed = false;
    shuffle();
    for (const std::uint32_t node : order) {
      std::vector<std::uint32_t> near = {node};
      for (std::uint32_t other = 0; other < graph.nodes.size(); ++other) {
        if (joined(node, other)) near.push_back(other);
      }
      std::vector<std::pair<std::uint32_t, double>> sums;
      for (const std::uint32_t other : near) {
        if (!of.contains(other)) continue;
        const std::uint32_t group = of[other];
        const auto members = std::count_if(of.begin(), of.end(), [&](const auto& one) { return one.second == group; });
        auto found = std::find_if(sums.begin(), sums.end(), [&](const auto& sum) { return sum.first == group; });
        if (found == sums.end()) found = sums.insert(sums.end(), {group, 0});
        found->second += 1.0 / static_cast<double>(members);
      }
      double most = 0;
      for (const auto& [group, sum] : sums) most = std::max(most, sum);
      std::vector<std::uint32_t> best;
      for (const auto& [group, sum] : sums) {
        if (most - sum < 1e-4) best.push_back(group);
      }
      if (best.empty() || (of.contains(node) && std::count(best.begin(), best.end(), of[node]) > 0)) continue;
      of[node] = best[random.below(best.size())];
      changed = true;
    }
  }
  std::vector<std::uint32_t> result;
  for (std::uint32_t node = 0; node < graph.nodes.size(); ++node) result.push_back(of.at(node));
  return result;
}

TEST(FluidCommunities, AreThoseOfTheSlowProcedure) {
  EXPECT_TRUE(rc::check("on random connected graphs", [] {
    const auto nodes = *rc::gen::inRange<std::size_t>(1, 25);
    const NodeGraph graph = random_graph(nodes, *rc::gen::inRange<std::size_t>(0, 20), *rc::gen::inRange(0, 1000));
    const FluidOptions options{.groups = *rc::gen::inRange<std::size_t>(1, nodes + 1),
                               .seed = *rc::gen::arbitrary<std::uint64_t>()};
    RC_ASSERT(fluid_communities(graph, options).value() == slow_fluid(graph, options));
  }));
}

TEST(FluidCommunities, GiveEveryNodeOneOfExactlyKGroups) {
  EXPECT_TRUE(rc::check("even when cut short", [] {
    const auto nodes = *rc::gen::inRange<std::size_t>(1, 300);
    const NodeGraph graph = random_graph(nodes, *rc::gen::inRange<std::size_t>(0, 300), *rc::gen::inRange(0, 1000));
    const FluidOptions options{.groups = *rc::gen::inRange<std::size_t>(1, nodes + 1),
                               .seed = *rc::gen::arbitrary<std::uint64_t>(),
                               .sweeps_max = *rc::gen::element(0, 1, 100)};
    const auto groups = fluid_communities(graph, options).value();
    RC_ASSERT(groups.size() == nodes);
    const std::set<std::uint32_t> used(groups.begin(), groups.end());
    RC_ASSERT(used.size() == options.groups && *used.rbegin() == options.groups - 1);
  }));
}

TEST(FluidCommunities, RefuseGraphsInPartsAndMoreGroupsThanNodes) {
  NodeGraph parts;
  parts.nodes.resize(4);
  parts.edges = {{0, 1}, {2, 3}};
  EXPECT_EQ(fluid_communities(parts, {.groups = 2}).error().message(),
            "only a connected graph can be cut into fluid groups");
  EXPECT_FALSE(fluid_communities(random_graph(3, 0, 1), {.groups = 4}).has_value());
  EXPECT_FALSE(fluid_communities(NodeGraph(), {.groups = 1}).has_value());
}

// Two triangles joined by an edge: 7 edges, each triangle has 3 inside and 7 ends of 14: 2 (3/7 − 1/4).
TEST(FluidCommunities, ModularityOfTwoTriangles) {
  NodeGraph graph;
  graph.nodes.resize(6);
  graph.edges = {{0, 1}, {0, 2}, {1, 2}, {2, 3}, {3, 4}, {3, 5}, {4, 5}};
  EXPECT_NEAR(modularity(graph, {0, 0, 0, 1, 1, 1}), 2 * (3.0 / 7 - 0.25), 1e-12);
  EXPECT_NEAR(modularity(graph, {0, 0, 0, 0, 0, 0}), 0, 1e-12);
}

TEST(Grouping, SumsFeaturesAndJoinsGroups) {
  NodeGraph graph;
  graph.nodes = {{10, 1, 0.1}, {20, 1, 0.2}, {40, 1, 0.4}, {80, 2, 0.8}};
  graph.edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const NodeGraph groups = merged(graph, {0, 1, 0, 1});
  ASSERT_EQ(groups.nodes.size(), 2U);
  EXPECT_EQ(groups.nodes[0].tensor_size, 50);
  EXPECT_EQ(groups.nodes[1].count, 3);
  EXPECT_NEAR(groups.nodes[1].type, 1.0, 1e-12);
  EXPECT_EQ(groups.edges, (std::vector<GraphEdge>{{0, 1}}));
}

TEST(Grouping, KeepsTheSumsOfTheGraph) {
  EXPECT_TRUE(rc::check([] {
    const auto nodes = *rc::gen::inRange<std::size_t>(1, 120);
    const NodeGraph graph = random_graph(nodes, 40, *rc::gen::inRange(0, 1000));
    const auto wanted = *rc::gen::inRange<std::size_t>(1, 150);
    const NodeGraph groups = grouped(graph, wanted, {}).value();
    RC_ASSERT(groups.nodes.size() == std::min(nodes, wanted));
    GraphNode before{0, 0, 0}, after{0, 0, 0};
    for (const GraphNode& node : graph.nodes) before.tensor_size += node.tensor_size, before.type += node.type;
    for (const GraphNode& node : groups.nodes) after.tensor_size += node.tensor_size, after.type += node.type;
    RC_ASSERT(std::abs(before.tensor_size - after.tensor_size) < 1e-9 && std::abs(before.type - after.type) < 1e-9);
  }));
}

TEST(Grouping, CountsFollowThePolicy) {
  const std::vector<std::size_t> nodes = {1000, 10, 2000, 30};
  EXPECT_EQ(group_counts(nodes, {.grouping = Grouping::kNone}), nodes);
  EXPECT_EQ(group_counts(nodes, {.grouping = Grouping::kUniform, .groups = 100}),
            (std::vector<std::size_t>{100, 10, 100, 30}));
  // Sorted 10, 30 | 1000, 2000: means 20 and 1500.
  GroupingOptions options{.grouping = Grouping::kProportional, .rule = GroupRule::kSquareRoot, .batch = 2};
  EXPECT_EQ(group_counts(nodes, options), (std::vector<std::size_t>{38, 4, 38, 4}));
  options.rule = GroupRule::kLog10;
  EXPECT_EQ(group_counts(nodes, options), (std::vector<std::size_t>{3, 1, 3, 1}));
  options.rule = GroupRule::kLog2;
  EXPECT_EQ(group_counts(nodes, options), (std::vector<std::size_t>{10, 4, 10, 4}));
  options.rule = GroupRule::kShare;
  options.share = 0.5;
  EXPECT_EQ(group_counts(nodes, options), (std::vector<std::size_t>{750, 10, 750, 10}));
}

}  // namespace
}  // namespace orrery::predict
