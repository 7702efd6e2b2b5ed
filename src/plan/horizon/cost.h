#pragma once
// What a schedule costs, and whether it can be carried out.

#include <cstdint>

#include "plan/horizon/problem.h"

namespace orrery::plan::horizon {

struct CostSplit {
  double machines_usd = 0;  // rented, whatever is on them
  double idle_usd = 0;      // of them: GPUs and parts of periods in which nothing runs
  double busy_usd = 0;      // more for GPUs at work
  double tardiness_usd = 0;
  double missed_usd = 0;

  double total_usd() const { return machines_usd + busy_usd + tardiness_usd + missed_usd; }
};

// Machines of every period from the starts, packed by packed(). Precondition: starts are configurations of the tasks.
std::vector<std::vector<Node>> nodes_of(const Problem& problem, const std::vector<std::optional<Start>>& starts);

// Precondition: check_schedule() accepts it.
CostSplit cost_of(const Problem& problem, const Schedule& schedule);
// What the schedule uses of a tariff: machines and GPUs at work.
double used_of(const Problem& problem, const Tariff& tariff, const Schedule& schedule);

// Whether it can be carried out, and its cost in whole nano-dollars; tasks without a start cost nothing. It shares no
// arithmetic with the above. kInfeasible: says which rule is broken and by how much.
Result<std::int64_t> check_schedule(const Problem& problem, const Schedule& schedule);

// check_schedule(), and that the cost is `claimed_usd` up to the rounding of its terms; kInternal if not.
Status check_claim(const Problem& problem, const Schedule& schedule, double claimed_usd);

}  // namespace orrery::plan::horizon
