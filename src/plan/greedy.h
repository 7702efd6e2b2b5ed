#pragma once
// The greedy heuristic of the published line (GPUScheduler, Filippini et al.), deterministic.
//
// Assumptions: the time of a job depends on the type of GPU and their number only.
//
// Procedure
//   1. Jobs in descending pressure: now + shortest time − due date.
//   2. Each tries its configurations (type of GPU, number): first those that meet the due date by the price of the GPUs
//      until the end, then the others by time.
//   3. The best one goes on the open node of that type with the fewest free GPUs that has enough; else a new node is
//      opened with the largest VM of the type that its limit allows.
//   4. When no node can be opened, the next configurations are tried on open nodes; if none fits, the job is postponed.
//   5. Every node with idle GPUs becomes the cheapest smaller VM of the type that has the used GPUs or one more.
//   6. The GPUs that are idle then go to the job of the node that gains most time by them.
//
// Machines with pinned jobs are open from the start, and those jobs stay as they are; budgets are ignored.
//
// Ties: pressure by job, configurations by type and number, nodes by the order they were opened in, VMs by index.
// O(jobs · configurations · log nodes). It ignores the objective; improve.h does not.

#include "base/random.h"
#include "plan/instance.h"
#include "plan/plan.h"

namespace orrery::plan {

Plan greedy_plan(const Instance& instance);

// How much is left to chance, as published: each two neighbours in the order of jobs change places with probability 0.5
// + swap if the first weighs more, else 0.5 − swap; one of the best `configurations` of the configurations and one of
// the best `nodes` of the open nodes with enough free GPUs is drawn, at least one being among them.
struct GreedyChance {
  double swap = 0.05;
  double configurations = 0.05;
  double nodes = 0.2;
};
Plan random_greedy_plan(const Instance& instance, const GreedyChance& chance, Random& random);

}  // namespace orrery::plan
