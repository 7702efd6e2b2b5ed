#pragma once
// GRASP with path relinking: many different greedy plans, and the plans on the paths between the best of them.
//
// Procedure
//   1. Greedy plans, one plain and the others randomised (greedy.h), every second one more than was published, since 5
//      % of a few configurations leave nothing to draw; each keeps the budget.
//   2. The ten cheapest different ones are improved (improve.h): with the plan that is known already, the elite.
//   3. From each of them to the cheapest and back: node by node the plan takes over a machine of the other one, with
//      its jobs; jobs on the GPUs that go wait. Of the machines that are left one of the best `share` is drawn. At most
//      as many steps as there are nodes. The cheapest plan on the path is improved.
//   4. The cheapest of all.
//
// Published: elite of 10, share 0.3, depth at most the nodes; there single jobs are taken over and a ratio of work to
// cost is maximised. Here whole machines are, since a single job seldom fits, and the cost itself is minimised. Source:
// Filippini et al., IEEE Transactions on Services Computing 16(3), 2023, and the code of that line.
//
// The same seed gives the same plan. O(tries · greedy + elite · nodes² · GPUs), without improving.

#include "base/random.h"
#include "plan/linear_costs.h"

namespace orrery::plan {

struct RelinkOptions {
  int tries = 100;  // greedy plans
  std::size_t elite = 10;
  double share = 0.3;
  std::int64_t comparisons_max = 2'000'000;  // of each improvement
  std::uint64_t seed = 1;
};

// Never more expensive than `known`. Precondition: costs of wait or rho; `known` keeps all limits, as the answer does.
Plan relinked_plan(const LinearCosts& costs, const Plan& known, const RelinkOptions& options);

// The cheapest plan on the path from one to the other, both of which keep the limits; the budget may be broken.
Plan best_between(const LinearCosts& costs, const Plan& from, const Plan& to, double share, Random& random);

}  // namespace orrery::plan
