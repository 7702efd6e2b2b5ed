#pragma once
// The matching with the largest sum of weights in any graph: no vertex has two partners, and some may have none.
//
// Edmonds' blossoms with Galil's bookkeeping of dual variables, O(n^3). Weights are whole and at least 0; an edge of
// weight 0 is none. Sources: Edmonds (1965); Galil, "Efficient Algorithms for Finding Maximum Matching in Graphs"
// (1986).

#include <cstdint>
#include <vector>

namespace orrery::schedule {

struct Matching {
  std::vector<int> partner{};  // of each; -1: none
  std::int64_t weight = 0;
};

// `weights[a][b]` = `weights[b][a]`, at most 1e12; the diagonal is not looked at.
Matching best_matching(const std::vector<std::vector<std::int64_t>>& weights);

// The heaviest edge, then the heaviest between those left, and so on; of equal ones the lowest numbers. At least half
// of the best sum.
Matching greedy_matching(const std::vector<std::vector<std::int64_t>>& weights);

// Each in the order given that is still alone takes the partner left with the heaviest edge; of equal ones the lowest.
Matching pair_in_order(const std::vector<std::vector<std::int64_t>>& weights, const std::vector<int>& order);

}  // namespace orrery::schedule
