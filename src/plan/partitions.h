#pragma once
// How a machine of G GPUs can be cut into parts: the integer partitions of G (1, 2, 5, 22, 231 for 1, 2, 4, 8, 16).

#include <span>
#include <vector>

namespace orrery::plan {

// parts[g − 1] = how many parts of g GPUs.
using Partition = std::vector<int>;

// All of them, the largest parts first. Parts may stay empty, so partitions that leave GPUs over are not needed.
std::vector<Partition> partitions(int gpus);

// The partition that is worth most if a part of g GPUs is worth prices[g − 1], of a machine with as many GPUs as
// prices. Prices must not be negative. O(GPUs²).
struct BestCut {
  double worth = 0;
  Partition parts;
};
BestCut best_cut(std::span<const double> prices);

}  // namespace orrery::plan
