#pragma once
// A lower bound of every plan's cost without a solver, and prices of slots that show where jobs want to be.
//
// The rows Σ_j x_js ≤ Σ_k a_kg p_vk of the pattern program are priced at λ_s ≥ 0 instead of enforced. The rest
// separates: every job takes its cheapest slot or waits, every node takes the partition that is worth most,
//
//   L(λ) = Σ_j min(postponed_j, min_s job_js + λ_s) − Σ_nodes max(0, max_k Σ_g a_kg λ_vg − node_v),
//
// with jobs on m machines paying m·λ_s, within the limits of nodes and types. L(λ) bounds the program for every λ and
// reaches its linear relaxation at the best one, which subgradient steps approach: averaged directions, Polyak's length
// towards a level that is lowered, from the best λ again, when nothing gets better. O(jobs · slots) a round. The rules
// of first_end about jobs that must run, quotas and budgets are left out, which keeps it a bound. The free GPUs of
// machines with pinned jobs are cut in the best way, at no cost.

#include <map>

#include "plan/linear_costs.h"
#include "plan/partitions.h"

namespace orrery::plan {

struct Lagrangian {
  double bound_usd = 0;
  std::vector<double> prices_usd;                             // λ, by slot
  std::vector<double> cheapest_usd;                           // by job: its part of L(λ)
  std::map<std::pair<std::size_t, Partition>, double> nodes;  // mean number of nodes by type and partition
};

// `target_usd`: the cost of some plan, which decides how long the first steps are.
Lagrangian lagrangian_bound(const LinearCosts& costs, double target_usd, int rounds);
// The same from the prices of a similar program on, and only until bound and rules_usd() together reach the target.
Lagrangian lagrangian_bound(const LinearCosts& costs, double target_usd, int rounds,
                            const std::vector<double>& prices_usd);

// What the rules of first_end about jobs that must run add to the bound: a job that takes a slot which is not its
// cheapest pays the difference in L(λ), so a plan costs at least the bound, the least difference among the entries of
// which one is taken, and the least of the running_min − 1 other jobs that run; or the least of running_min jobs. 0 for
// other objectives.
double rules_usd(const LinearCosts& costs, const Lagrangian& dual);

// Which entries of costs.job_usd a plan cheaper than `target_usd` can use: those whose price above the job's cheapest
// does not close the gap.
std::vector<bool> open_entries(const LinearCosts& costs, const Lagrangian& dual, double target_usd);

// The order of jobs in a rounded plan.
enum class Loss {
  kOfFirst,  // the job that would lose most if its cheapest slot were taken
  kOfAll,    // the job that would lose most if it were postponed; decides in a crowded cluster
};

// A plan from the prices: the mean partitions rounded to whole nodes, then jobs, those that would lose most first, each
// into the cheapest slot left.
Plan rounded_plan(const LinearCosts& costs, const Lagrangian& dual, Loss loss);

// The same nodes without their partitions: jobs, those that would lose most by being postponed first, each take the
// slot that is cheapest at the prices and for which some node has GPUs left.
Plan priced_plan(const LinearCosts& costs, const Lagrangian& dual);

}  // namespace orrery::plan
