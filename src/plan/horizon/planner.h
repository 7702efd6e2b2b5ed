#pragma once
// The cheapest schedule that can be found in the time there is, and a bound that no schedule can beat.
//
//   1. greedy, improved by random search (search.h); with budgets at growing prices of what they count
//   2. a bound and prices of parts (bound.h)
//   3. the program (program.h) without the configurations that the bound rules out, solved by CBC
//   4. the cheapest of all, checked (cost.h)
//
// CBC that is missing, killed or late costs the proof, not the schedule.

#include "env/env.h"
#include "plan/horizon/cost.h"
#include "plan/planner.h"

namespace orrery::plan::horizon {

struct Report {
  Schedule schedule;
  CostSplit cost;
  double greedy_usd = 0;  // of step 1 without random search; infinite if it leaves a task out or breaks a budget
  double bound_usd = 0;   // at most the cost
  double gap = 0;         // (cost − bound) / cost
  bool proven = false;
  std::string note;  // why there is no proof; empty if there is one
  Seconds time{};

  double total_usd() const { return cost.total_usd(); }
};

// Precondition: tasks are in order (put_in_order). kInfeasible: not all tasks can be served; names them, the limit that
// prevents it, and what would help.
Result<Report> make_schedule(const Problem& problem, const PlannerOptions& options, env::Env env);

// A task that no machine could serve even if it were alone: which limit it breaks, and by how much.
Status check_alone(const Problem& problem, const Task& task);

}  // namespace orrery::plan::horizon
