#include "elastic/net/algorithms/trees.h"

#include <fmt/format.h>

namespace orrery::elastic::net {

namespace {

// One part over one tree.
void climb(const Plan& plan, std::span<const int> parents, Schedule& schedule) {
  const Collective kind = plan.descriptor.collective;
  const int parent = parents[static_cast<std::size_t>(plan.rank)];
  const auto for_each_child = [&](const auto& act) {
    for (int rank = 0; rank < plan.ranks; ++rank) {
      if (parents[static_cast<std::size_t>(rank)] == plan.rank) act(rank);
    }
  };
  if (kind != Collective::kBroadcast) {
    bool has_children = false;
    for_each_child([&](int child) {
      schedule.take(child);
      has_children = true;
    });
    if (has_children) schedule.fold();
    if (parent >= 0) schedule.send(parent);
  }
  if (kind == Collective::kReduce) return;
  if (parent >= 0) schedule.copy(parent);
  for_each_child([&](int child) { schedule.send(child); });
}

void over(const Plan& plan, std::span<const int> parents, Schedule& schedule) {
  for_each_piece(plan, {0, plan.descriptor.bytes()}, [&](Range piece) {
    schedule.begin_part(piece);
    climb(plan, parents, schedule);
  });
}

// Shifts every rank of a tree over 0 … n−1 by `by`.
std::vector<int> turned(const std::vector<int>& parents, int by) {
  const auto ranks = static_cast<int>(parents.size());
  std::vector<int> result(parents.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const int parent = parents[static_cast<std::size_t>(rank)];
    result[static_cast<std::size_t>((rank + by) % ranks)] = parent < 0 ? -1 : (parent + by) % ranks;
  }
  return result;
}

int root_of(const std::vector<int>& parents) {
  for (std::size_t rank = 0; rank < parents.size(); ++rank) {
    if (parents[rank] < 0) return static_cast<int>(rank);
  }
  return 0;
}

// The parent of `rank` in the tree whose in-order traversal is 0, 1, 2, …: odd ranks are leaves.
int in_order_parent(int rank, int ranks) {
  if (rank == 0) return -1;
  const int bit = rank & -rank;
  const int up = (rank ^ bit) | (bit << 1);
  return up < ranks ? up : rank ^ bit;
}

}  // namespace

std::vector<int> star_parents(int ranks, int root) {
  std::vector<int> parents(static_cast<std::size_t>(ranks), root);
  parents[static_cast<std::size_t>(root)] = -1;
  return parents;
}

std::vector<int> binary_parents(int ranks, int root) {
  std::vector<int> parents(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) parents[static_cast<std::size_t>(rank)] = rank == 0 ? -1 : (rank - 1) / 2;
  return turned(parents, root);
}

std::vector<int> in_order_parents(int ranks, bool mirrored) {
  std::vector<int> parents(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) parents[static_cast<std::size_t>(rank)] = in_order_parent(rank, ranks);
  if (!mirrored) return parents;
  if (ranks % 2 == 1) return turned(parents, 1);
  std::vector<int> mirror(parents.size());
  for (int rank = 0; rank < ranks; ++rank) {
    const int parent = parents[static_cast<std::size_t>(rank)];
    mirror[static_cast<std::size_t>(ranks - 1 - rank)] = parent < 0 ? -1 : ranks - 1 - parent;
  }
  return mirror;
}

Status check_parents(std::span<const int> parents) {
  const auto ranks = static_cast<int>(parents.size());
  int roots = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    int at = rank;
    for (int steps = 0; parents[static_cast<std::size_t>(at)] >= 0; ++steps) {
      const int parent = parents[static_cast<std::size_t>(at)];
      if (parent >= ranks) return Error::invalid(fmt::format("rank {} has the parent {} of {}", at, parent, ranks));
      if (steps == ranks) return Error::invalid(fmt::format("rank {} is its own ancestor", rank));
      at = parent;
    }
    roots += parents[static_cast<std::size_t>(rank)] < 0 ? 1 : 0;
  }
  if (roots != 1) return Error::invalid(fmt::format("{} roots; a tree has one", roots));
  return {};
}

void star(const Plan& plan, Schedule& schedule) {
  over(plan, star_parents(plan.ranks, plan.descriptor.root), schedule);
}

void binary_tree(const Plan& plan, Schedule& schedule) {
  over(plan, binary_parents(plan.ranks, plan.descriptor.root), schedule);
}

void given_tree(const Plan& plan, Schedule& schedule) {
  over(plan, plan.parents, schedule);
}

void double_tree(const Plan& plan, Schedule& schedule) {
  std::vector<int> trees[2] = {in_order_parents(plan.ranks, false), in_order_parents(plan.ranks, true)};
  if (has_root(plan.descriptor.collective)) {
    for (auto& tree : trees) tree = turned(tree, plan.descriptor.root - root_of(tree) + plan.ranks);
  }
  std::size_t turn = 0;
  const Range halves[2] = {slice_of(plan.descriptor.count, 0, 2), slice_of(plan.descriptor.count, 1, 2)};
  const std::uint64_t size = element_bytes(plan.descriptor.type);
  for (const Range& half : halves) {
    for_each_piece(plan, {half.begin * size, half.end * size}, [&](Range piece) {
      schedule.begin_part(piece);
      climb(plan, trees[turn], schedule);
    });
    turn += 1;
  }
}

}  // namespace orrery::elastic::net
