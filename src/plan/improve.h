#pragma once
// Local improvement of a plan: the result is never more expensive than the given plan.
//
// Rounds over all jobs and nodes until nothing gets cheaper or the budget is used up:
//   1. a job goes to the cheapest place: waiting, free GPUs of any open node, other numbers of GPUs on its own, or a
//      node that is opened for it;
//   2. a job takes the place of another one that runs, which takes its place;
//   3. a waiting job takes some of the GPUs of one that runs;
//   4. a node becomes another VM type with the same jobs and GPUs, or is closed and its jobs wait.
// Ties keep the present state, then the lowest index. Deterministic: the budget counts comparisons, not time.

#include <cstdint>

#include "plan/linear_costs.h"

namespace orrery::plan {

// Precondition: costs of wait or rho.
Plan improve(const LinearCosts& costs, Plan plan, std::int64_t comparisons_max);

}  // namespace orrery::plan
