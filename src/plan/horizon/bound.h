#pragma once
// What no schedule can beat, without a solver. With a price λ_st ≥ 0 for every kind of part s (g GPUs of VM type v) in
// every period t, the number of parts taken need not match the parts cut:
//
//   L(λ) = Σ_j min(left out, min over configurations of [usd + m·Σ_t λ_st])
//        + Σ_t min over at most N machines of Σ (machine_vt − best cut of a machine by λ)
//
// is at most the cost of any schedule (quotas and budgets left out). λ starts at the share of the machine's price, at
// which L is what every task pays alone on machines it fills, and follows subgradients. O(rounds · tasks · modes ·
// periods).

#include "plan/horizon/problem.h"

namespace orrery::plan::horizon {

struct Bound {
  double usd = 0;
  std::vector<std::vector<double>> prices;  // λ by [VM type · periods + period], then g − 1
  std::vector<double> cheapest;             // by task: the minimum above
};

// `target_usd`: the cost of a schedule that is known.
Bound lower_bound(const Problem& problem, const Configurations& configurations, double target_usd, int rounds);

// The cost of a configuration for a task at these prices.
double priced_usd(const Problem& problem, const Configurations& configurations, const Bound& bound, std::size_t task,
                  const Start& start);

}  // namespace orrery::plan::horizon
