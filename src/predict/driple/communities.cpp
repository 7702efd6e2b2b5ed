#include "predict/driple/communities.h"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

#include "base/random.h"

namespace orrery::predict {

namespace {

constexpr std::uint32_t kNone = 0xffffffff;
constexpr double kEqualWithin = 1e-4;  // sums of densities that count as the same

void shuffle(std::vector<std::uint32_t>& values, Random& random) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

bool is_connected(const NodeGraph& graph, const Neighbours& neighbours) {
  std::vector<bool> seen(graph.nodes.size());
  std::vector<std::uint32_t> open = {0};
  seen[0] = true;
  std::size_t reached = 0;
  while (!open.empty()) {
    const std::uint32_t node = open.back();
    open.pop_back();
    ++reached;
    for (const std::uint32_t next : neighbours.of(node)) {
      if (seen[next]) continue;
      seen[next] = true;
      open.push_back(next);
    }
  }
  return reached == graph.nodes.size();
}

class Fluid {
 public:
  Fluid(const NodeGraph& graph, const Neighbours& neighbours, const FluidOptions& options)
      : neighbours_(neighbours),
        random_(options.seed),
        of_(graph.nodes.size(), kNone),
        members_(options.groups, 1),
        sum_(options.groups, 0.0) {
    order_.resize(graph.nodes.size());
    std::iota(order_.begin(), order_.end(), 0U);
    shuffle(order_, random_);
    for (std::size_t group = 0; group < options.groups; ++group) of_[order_[group]] = static_cast<std::uint32_t>(group);
  }

  // Whether anything changed.
  bool sweep() {
    shuffle(order_, random_);
    bool changed = false;
    for (const std::uint32_t node : order_) changed = visit(node) || changed;
    return changed;
  }

  // Nodes a cut-short search never reached join a neighbour, so that every node has a community.
  void settle() {
    for (bool missing = true; missing;) {
      missing = false;
      for (const std::uint32_t node : order_) missing = (of_[node] == kNone && !join_any(node)) || missing;
    }
  }

  std::vector<std::uint32_t> take() { return std::move(of_); }

 private:
  double density(std::uint32_t group) const { return 1.0 / members_[group]; }

  void feel(std::uint32_t group) {
    if (group == kNone) return;
    if (sum_[group] == 0) near_.push_back(group);
    sum_[group] += density(group);
  }

  bool visit(std::uint32_t node) {
    near_.clear();
    feel(of_[node]);
    for (const std::uint32_t next : neighbours_.of(node)) feel(of_[next]);
    if (near_.empty()) return false;
    double most = 0;
    for (const std::uint32_t group : near_) most = std::max(most, sum_[group]);
    best_.clear();
    for (const std::uint32_t group : near_) {
      if (most - sum_[group] < kEqualWithin) best_.push_back(group);
      sum_[group] = 0;
    }
    if (std::find(best_.begin(), best_.end(), of_[node]) != best_.end()) return false;
    if (of_[node] != kNone) --members_[of_[node]];
    of_[node] = best_[random_.below(best_.size())];
    ++members_[of_[node]];
    return true;
  }

  bool join_any(std::uint32_t node) {
    for (const std::uint32_t next : neighbours_.of(node)) {
      if (of_[next] == kNone) continue;
      of_[node] = of_[next];
      return true;
    }
    return false;
  }

  const Neighbours& neighbours_;
  Random random_;
  std::vector<std::uint32_t> of_, order_, near_, best_;
  std::vector<std::uint32_t> members_;
  std::vector<double> sum_;  // by community; 0 between visits
};

}  // namespace

Result<std::vector<std::uint32_t>> fluid_communities(const NodeGraph& graph, const FluidOptions& options) {
  if (options.groups < 1 || options.groups > graph.nodes.size()) {
    return Error::invalid(fmt::format("{} nodes cannot form {} groups", graph.nodes.size(), options.groups));
  }
  const Neighbours neighbours(graph);
  if (!is_connected(graph, neighbours)) return Error::invalid("only a connected graph can be cut into fluid groups");
  Fluid fluid(graph, neighbours, options);
  for (int sweep = 0; sweep < options.sweeps_max && fluid.sweep(); ++sweep) {
  }
  fluid.settle();
  return fluid.take();
}

double modularity(const NodeGraph& graph, const std::vector<std::uint32_t>& groups) {
  if (graph.edges.empty()) return 0;
  std::vector<double> inside(graph.nodes.size()), ends(graph.nodes.size());
  for (const auto& [a, b] : graph.edges) {
    if (groups[a] == groups[b]) ++inside[groups[a]];
    ++ends[groups[a]];
    ++ends[groups[b]];
  }
  const auto edges = static_cast<double>(graph.edges.size());
  double sum = 0;
  for (std::size_t group = 0; group < inside.size(); ++group) {
    const double share = ends[group] / (2 * edges);
    sum += inside[group] / edges - share * share;
  }
  return sum;
}

}  // namespace orrery::predict
