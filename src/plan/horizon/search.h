#pragma once
// Schedules without a solver.
//
//   1. Greedy: tasks one by one, each by its cheapest configuration beside those before it (ledger.h), by due date, by
//      what can be late, by size, and by submission; the cheapest of the four.
//   2. `rounds` times: up to four tasks, or a sixth of all, drawn by chance or from the same time, are taken out
//      and put back in another order. Kept unless it costs more than a share that falls to 0; the best of all is
//      the answer.
//   3. Budgets: the same with μ times what they count added to every price, for growing μ until they are kept.
//
// The same seed gives the same schedule. O(rounds · modes · periods).

#include <cstdint>

#include "plan/horizon/cost.h"

namespace orrery::plan::horizon {

struct SearchOptions {
  int rounds = 2000;
  std::uint64_t seed = 1;
};

struct Found {
  std::vector<std::optional<Start>> starts;
  double usd = kNever;         // by the prices that were searched with; each task that is left out counts
  double greedy_usd = kNever;  // of step 1
  std::size_t left_out = 0;    // tasks
};

// Steps 1 and 2; budgets are ignored.
Found search(const Problem& problem, const Configurations& configurations, const SearchOptions& options);

// The problem at prices that contain μ times its budgets.
Problem priced(const Problem& problem, double mu);

// Whether the starts keep all budgets.
bool keeps_budgets(const Problem& problem, const Schedule& schedule);

}  // namespace orrery::plan::horizon
