#pragma once
// Makes graphs smaller before a network reads them: groups of nodes become nodes.
//
// The features of a group are the sums of its nodes'. Two groups are joined if any of their nodes are; there are no
// loops and no weights. Policies:
//
//   none           every node is a group
//   uniform        `groups` groups whatever the graph
//   proportional   graphs sorted by size are cut into batches of `batch`; a batch has as many groups as the rule makes
//                  of its mean number of nodes v: log10 v (the published slides), log2 v, √v or v · share
//
// A graph with fewer nodes than that is left as it is.

#include <string_view>

#include "predict/driple/communities.h"

namespace orrery::predict {

enum class Grouping { kNone, kUniform, kProportional };
std::string_view to_string(Grouping grouping);

enum class GroupRule { kLog10, kLog2, kSquareRoot, kShare };
std::string_view to_string(GroupRule rule);

struct GroupingOptions {
  Grouping grouping = Grouping::kUniform;
  std::size_t groups = 100;  // uniform
  GroupRule rule = GroupRule::kSquareRoot;
  double share = 0.1;
  std::size_t batch = 32;
  std::uint64_t seed = 42;
  int sweeps_max = 100;

  friend bool operator==(const GroupingOptions&, const GroupingOptions&) = default;
};

// How many groups the rule makes of v nodes: at least 1.
std::size_t groups_of(double nodes, const GroupingOptions& options);

// The number of groups of each graph, from the numbers of nodes of all.
std::vector<std::size_t> group_counts(std::span<const std::size_t> nodes, const GroupingOptions& options);

// Precondition: one group per node, numbered from 0 without holes.
NodeGraph merged(const NodeGraph& graph, const std::vector<std::uint32_t>& groups);

// Into this many groups; the graph itself if it does not have more nodes. Fails on a graph that is not connected.
Result<NodeGraph> grouped(const NodeGraph& graph, std::size_t groups, const GroupingOptions& options);

}  // namespace orrery::predict
