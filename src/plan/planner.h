#pragma once
// The cheapest plan that can be found in the given time, and a bound that no plan can beat.
//
//   1. greedy (greedy.h), improved (improve.h): there is a plan from now on
//   2. a bound and prices (lagrangian.h); three more plans made from the prices, improved
//   3. randomised plans and those between the best of them (relink.h), if the gap is above 1 % and the case not so big
//      that one greedy plan more would be all there is time for
//   4. the pattern program (pattern_milp.h) without the choices that the bound rules out, solved by CBC (cbc.h);
//      without its answer step 3 if it has not been done
//   5. the best plan, checked (checker.h)
//
// Jobs on several machines (spread.h): steps 1 to 3 are taken for the others, with some of them given their machines
// before (reduced.h); bound and program know them all.
//
// first_end has a program for every time θ that can come first, since its cost is linear only for a given θ. All get a
// bound from prices, with what the rules about jobs that must run add to it; the most promising one is solved, and CBC
// searches the others only for plans cheaper than the best, first at eight neighbours together.
// CBC that is missing, killed or late costs the proof, not the plan: the report says why.

#include "base/units.h"
#include "env/env.h"
#include "plan/cost.h"

namespace orrery::plan {

struct PlannerOptions {
  Seconds limit{60};
  std::string solver = "cbc";
  std::string scratch = "/tmp";
  bool heuristic_only = false;  // without CBC
  int random_tries = 100;       // greedy plans by chance; 0: none
};

struct PlanReport {
  Plan plan;
  CostSplit cost;
  double objective_usd = 0;
  double bound_usd = 0;   // at most objective_usd
  double gap = 0;         // (objective − bound) / objective
  double greedy_usd = 0;  // of step 1 before it is improved; under first_end 0 if it breaks a rule
  bool proven = false;    // the gap is what doubles cannot distinguish from 0
  std::string note;       // why there is no proof; empty if there is one
  Seconds time{};
};

// Errors: kInfeasible, there is no plan at all; the error of CBC if first_end finds none without it.
Result<PlanReport> make_plan(const Instance& instance, Objective objective, const PlannerOptions& options,
                             env::Env env);

}  // namespace orrery::plan
