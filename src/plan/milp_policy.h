#pragma once
// Renting by plan (policy "milp"): at every event the cheapest plan that several planning methods find.
//
// Assumptions: a ClusterAdapter (market.h) that describes machines and jobs; jobs can be suspended, moved and resized.
//
// Procedure, when a job was submitted or has ended, and every H seconds
//   1. The times left of all jobs become an instance.
//   2. Plans for it: running jobs continue; these and what the best order of jobs (order_search.h) adds to them; the
//      best order from an empty cluster; the cheapest plans (planner.h) under "wait" with f = 1/4, 1/2 and 1 and under
//      "rho" with ρ = 1 and 100.
//   3. Each is played on by the dispatch rules (dispatch.h) and the best orders, with and without placing all jobs anew
//      at every end, to the last job that is known; the one that then costs least, rental and tardiness, is carried
//      out. A plan that moves jobs has to save more than `worthwhile` of what is left to pay.
//
// Neither cost of postponing is right for every load: "rho" starts all jobs at once, "wait" may postpone jobs that
// could run. The roll-out decides which fits. Since it also tries the simple rules, it is no worse than they are, by
// what is known at the time.
//
// Ties: the first in the order above. The planner may call a solver, whose limit is wall-clock time; the same events
// give the same decisions as long as it is not late.

#include "env/env.h"
#include "plan/market.h"
#include "plan/planner.h"
#include "schedule/policies.h"

namespace orrery::plan {

struct MilpPolicyOptions {
  double horizon_s = 1800;                       // H
  double worthwhile = 1e-6;                      // share of the remaining cost
  std::size_t planned_max = 400;                 // jobs; with more only orders are searched
  int tries = 1000;                              // of each search for an order
  PlannerOptions planner{.limit = Seconds(10)};  // random_tries is taken as 0: roll-outs choose among plans
};

// What the policy did, for reports.
struct MilpPolicyStats {
  std::int64_t decisions = 0;
  std::int64_t plans = 0;   // by the planner
  std::int64_t proven = 0;  // of those
  Seconds slowest{};        // decision, wall clock
  Seconds time{};           // of all
};

// At any adapter: rented machines, or those of a cluster (scheduler_adapter.h). `stats` (may be null) is borrowed.
std::unique_ptr<schedule::Policy> make_milp_policy(const MilpPolicyOptions& options,
                                                   std::unique_ptr<ClusterAdapter> adapter, env::Env env,
                                                   MilpPolicyStats* stats = nullptr);

// The policy on the machines of a cluster (scheduler_adapter.h), where nothing has to be rented: heuristics only, since a
// job trace has thousands of decisions. `env` is borrowed; null: it cannot be made.
schedule::PolicyRecord milp_record(const env::Env* env);

// `market`, `jobs` and `stats` (may be null) are borrowed.
std::unique_ptr<schedule::Policy> make_milp_policy(const MilpPolicyOptions& options, const Market& market,
                                                   const MarketJobs& jobs, env::Env env,
                                                   MilpPolicyStats* stats = nullptr);

}  // namespace orrery::plan
