#pragma once
// The ways to cut a machine of G GPUs into parts: the integer partitions of G (1, 2, 5, 22, 231 for 1, 2, 4, 8, 16).

#include <vector>

namespace orrery::plan {

// parts[g − 1] = how many parts of g GPUs.
using Partition = std::vector<int>;

// All of them, the largest parts first. Parts may stay empty, so partitions that leave GPUs over are not needed.
std::vector<Partition> partitions(int gpus);

}  // namespace orrery::plan
