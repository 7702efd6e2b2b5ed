#pragma once
// Fluid communities: cuts a connected graph into k groups of well-connected nodes (Parés et al., "Fluid Communities",
// Complex Networks 2017).
//
// 1. The first k nodes of a random permutation each found a community; each community has density 1, spread evenly over
//    its nodes.
// 2. In a sweep every node is visited in random order. It sums, by community, the densities of itself and its
//    neighbours. If its own community is among the largest sums (within 1e-4) it stays; otherwise it joins one of the
//    largest at random. Densities follow at once.
// 3. It ends when a sweep changes nothing, or after `sweeps_max`.
//
// A community never becomes empty: its last node has density 1 of its own, and no other community can give more. Groups
// need not be connected. O(sweeps · (nodes + edges)).

#include <cstdint>
#include <vector>

#include "predict/driple/node_graph.h"

namespace orrery::predict {

struct FluidOptions {
  std::size_t groups = 100;
  std::uint64_t seed = 42;
  int sweeps_max = 100;
};

// The community of every node, 0 to groups − 1, none of them empty. An error if the graph is not connected or has fewer
// nodes than there are to be groups.
Result<std::vector<std::uint32_t>> fluid_communities(const NodeGraph& graph, const FluidOptions& options);

// Newman's modularity of a grouping: Σ over groups of (edges inside / edges) − (ends of edges inside / all ends)².
double modularity(const NodeGraph& graph, const std::vector<std::uint32_t>& groups);

}  // namespace orrery::predict
