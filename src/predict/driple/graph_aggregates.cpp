#include "predict/driple/graph_aggregates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace orrery::predict {

namespace {

constexpr std::size_t kRanges = 20;                                            // from 4^0 to 4^20
constexpr std::array kFloors = {1e6, 4e6, 16e6, 64e6, 256e6, 1e9, 4e9, 16e9};  // of work
constexpr std::string_view kVariable = "VariableV2";

// Sums over the nodes of one kind.
struct Sizes {
  double sum = 0, largest = 0, logarithms = 0, count = 0;
  std::array<float, kRanges> ranges{};

  void add(double size) {
    sum += size;
    largest = std::max(largest, size);
    logarithms += static_cast<double>(log_size(size));
    count += 1;
    const double range = std::log2(std::max(size, 1.0)) / 2;
    ++ranges[std::min(kRanges - 1, static_cast<std::size_t>(range))];
  }
  float mean_logarithm() const { return static_cast<float>(count > 0 ? logarithms / count : 0); }
};

void append(const Sizes& sizes, std::vector<float>& row) {
  row.insert(row.end(),
             {static_cast<float>(sizes.count), log_size(sizes.sum), log_size(sizes.largest), sizes.mean_logarithm()});
  row.insert(row.end(), sizes.ranges.begin(), sizes.ranges.end());
}

void append_names(std::string_view what, std::vector<std::string>& names) {
  for (const char* name : {"count", "sum", "largest", "mean"}) names.push_back(fmt::format("{} {}", what, name));
  for (std::size_t i = 0; i < kRanges; ++i) names.push_back(fmt::format("{} from 4^{}", what, i));
}

}  // namespace

GraphAggregates::GraphAggregates(std::span<const BuiltGraph* const> graphs) {
  std::map<std::string_view, std::size_t> counts;
  for (const BuiltGraph* graph : graphs) {
    for (const std::string& op : graph->ops) ++counts[op];
  }
  std::vector<std::pair<std::size_t, std::string_view>> common;
  for (const auto& [op, count] : counts) common.emplace_back(count, op);
  std::sort(common.rbegin(), common.rend());
  common.resize(std::min(common.size(), kOpsMax));
  names_ = {"batch", "edges", "first size", "last size"};
  append_names("operators", names_);
  append_names("variables", names_);
  append_names("works", names_);
  for (const double floor : kFloors) names_.push_back(fmt::format("filling {:g}", floor));
  for (const auto& [count, op] : common) {
    vocabulary_.emplace(op, vocabulary_.size());
    names_.push_back(fmt::format("kind {}", op));
  }
}

std::vector<float> GraphAggregates::row(const BuiltGraph& graph, double batch) const {
  const std::vector<GraphNode>& nodes = graph.graph.nodes;
  std::vector<double> beside(nodes.size(), 0.0);  // elements of the variables next to a node
  for (const auto& [a, b] : graph.graph.edges) {
    if (graph.ops[a] == kVariable) beside[b] += nodes[a].tensor_size;
    if (graph.ops[b] == kVariable) beside[a] += nodes[b].tensor_size;
  }
  Sizes operators, variables, works;
  std::array<double, kFloors.size()> at_least{};
  double first = 0, last = 0;
  std::vector<float> kinds(vocabulary_.size(), 0.0F);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto kind = vocabulary_.find(graph.ops[i]); kind != vocabulary_.end()) ++kinds[kind->second];
    if (graph.ops[i] == kVariable) {
      variables.add(nodes[i].tensor_size);
      continue;
    }
    const double work = batch * beside[i];
    if (operators.count == 0) first = nodes[i].tensor_size;
    last = nodes[i].tensor_size;
    operators.add(nodes[i].tensor_size);
    works.add(work);
    for (std::size_t k = 0; k < kFloors.size(); ++k) at_least[k] += std::max(work, kFloors[k]);
  }
  std::vector<float> row = {log_size(batch), static_cast<float>(graph.graph.edges.size()), log_size(first),
                            log_size(last)};
  append(operators, row);
  append(variables, row);
  append(works, row);
  for (const double floor : at_least) row.push_back(static_cast<float>(floor > 0 ? works.sum / floor : 0));
  row.insert(row.end(), kinds.begin(), kinds.end());
  return row;
}

}  // namespace orrery::predict
