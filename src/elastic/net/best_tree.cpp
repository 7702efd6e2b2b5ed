#include "elastic/net/best_tree.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "elastic/net/algorithms/trees.h"

namespace orrery::elastic::net {

namespace {

constexpr double kSecondsPerLevel = 80e-6;

std::size_t at(int to, int from, std::size_t ranks) {
  return static_cast<std::size_t>(to) * ranks + static_cast<std::size_t>(from);
}

int depth_of(int rank, std::span<const int> parents) {
  int depth = 0;
  for (int up = parents[static_cast<std::size_t>(rank)]; up >= 0; up = parents[static_cast<std::size_t>(up)]) ++depth;
  return depth;
}

// `root`, then the ranks with the best links; position i has the children 2·i + 1 and 2·i + 2.
std::vector<int> heap_parents(std::span<const double> seconds, int ranks, int root) {
  const auto count = static_cast<std::size_t>(ranks);
  std::vector<double> links(count);
  for (int a = 0; a < ranks; ++a) {
    for (int b = 0; b < ranks; ++b) {
      if (a != b) links[static_cast<std::size_t>(a)] += std::max(seconds[at(a, b, count)], seconds[at(b, a, count)]);
    }
  }
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    if ((a == root) != (b == root)) return a == root;
    return links[static_cast<std::size_t>(a)] < links[static_cast<std::size_t>(b)];
  });
  std::vector<int> parents(count, -1);
  for (std::size_t i = 1; i < count; ++i) parents[static_cast<std::size_t>(order[i])] = order[(i - 1) / 2];
  return parents;
}

}  // namespace

double seconds_of_tree(std::span<const int> parents, std::span<const double> seconds) {
  const std::size_t ranks = parents.size();
  std::vector<double> sending(ranks);
  int deepest = 0;
  for (int rank = 0; rank < static_cast<int>(ranks); ++rank) {
    const int parent = parents[static_cast<std::size_t>(rank)];
    deepest = std::max(deepest, depth_of(rank, parents));
    if (parent < 0) continue;
    sending[static_cast<std::size_t>(rank)] += seconds[at(parent, rank, ranks)];
    sending[static_cast<std::size_t>(parent)] += seconds[at(rank, parent, ranks)];
  }
  return *std::max_element(sending.begin(), sending.end()) + 2 * kSecondsPerLevel * deepest;
}

std::vector<int> best_tree(std::span<const double> seconds, int ranks) {
  std::vector<int> best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](std::vector<int> parents) {
    const double time = seconds_of_tree(parents, seconds);
    if (!best.empty() && time >= least) return;
    least = time;
    best = std::move(parents);
  };
  for (int root = 0; root < ranks; ++root) {
    consider(star_parents(ranks, root));
    consider(heap_parents(seconds, ranks, root));
  }
  return best;
}

bool has_slow_links(std::span<const double> seconds, int ranks) {
  constexpr double kMuch = 4;  // times the median
  std::vector<double> links;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const auto to = static_cast<int>(i) / ranks, from = static_cast<int>(i) % ranks;
    if (to != from) links.push_back(seconds[i]);
  }
  if (links.empty()) return false;
  std::sort(links.begin(), links.end());
  return links.back() > kMuch * links[links.size() / 2];
}

}  // namespace orrery::elastic::net
