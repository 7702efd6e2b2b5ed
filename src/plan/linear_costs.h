#pragma once
// The cost of a plan as a sum over nodes, running jobs and postponed jobs, which is what solvers and heuristics work
// on.
//
// A slot is a kind of part of a machine: g GPUs of a VM type. A node costs its price for the horizon as if it were
// idle; a job in a slot gives back the idle GPUs it takes, so its cost can be negative. Under first_end the sum is that
// of one θ: slots in which a job ends earlier are closed to it.
//
// A pinned job costs what it costs where it is, whether it is planned there or postponed, and runs nowhere else; so no
// search for something cheaper moves it. Machines with pinned jobs are open from the start.

#include <limits>
#include <vector>

#include "plan/cost.h"
#include "plan/limits.h"
#include "plan/spread.h"

namespace orrery::plan {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

struct Slot {
  std::size_t vm = 0;
  int gpus = 1;
};

// A job on several machines: what it costs beside its nodes, less the idle GPUs it takes.
struct SpreadCost {
  Spread spread;
  double usd = 0;
  double rent_usd = 0;  // the part that counts for a budget
};

struct LinearCosts {
  const Instance* instance = nullptr;     // borrowed
  std::vector<Node> kept{};               // machines with pinned jobs, and only those jobs
  int nodes_max = 1;                      // besides them
  std::vector<Slot> slots{};              // by VM type, then GPUs
  std::vector<std::size_t> first_slot{};  // by VM type: where its slots begin; slots of g GPUs are at + g − 1
  std::vector<int> vm_gpus{};             // by VM type
  std::vector<int> vm_nodes_max{};        // by VM type, at most nodes_max; besides those that are kept
  std::vector<double> node_usd{};         // by VM type
  std::vector<double> job_usd{};          // [job · slots + slot]; kNever: cannot run there
  std::vector<double> postponed_usd{};    // by job
  std::vector<double> rent_usd{};         // the part of job_usd that counts for a budget; empty if there is none
  std::vector<SpreadCost> spreads{};      // by job
  std::size_t running_min = 0;            // jobs that must run
  std::vector<std::size_t> one_of{};      // first_end: entries of job_usd of which one must be taken, unless empty

  std::size_t jobs() const { return postponed_usd.size(); }
  double at(std::size_t job, std::size_t slot) const { return job_usd[job * slots.size() + slot]; }
  bool is_pinned(std::size_t job) const { return instance->jobs[job].is_pinned(); }
  bool has_budget() const { return !rent_usd.empty(); }
  // What counts for the budget, besides node_usd. Precondition: has_budget().
  double rent_at(std::size_t job, std::size_t slot) const { return rent_usd[job * slots.size() + slot]; }
  int free_gpus(const Node& node) const { return vm_gpus[node.vm] - node.used_gpus(); }
  // With the kept machines open.
  NodeLimits limits() const;
  std::size_t slot_of(std::size_t vm, int gpus) const { return first_slot[vm] + static_cast<std::size_t>(gpus) - 1; }
};

// Of wait and rho. Precondition: the objective is one of them.
LinearCosts linear_costs(const Instance& instance, Objective objective);

// Of first_end for one θ, one of first_end_times().
LinearCosts first_end_costs(const Instance& instance, double theta_s);
// The same for all θ from `theta_s` to `last_s`: no plan of one of them is cheaper than the cheapest here.
LinearCosts first_end_costs(const Instance& instance, double theta_s, double last_s);

// The values θ can have, ascending; the last is the horizon.
std::vector<double> first_end_times(const Instance& instance);

// Precondition: no job is on several machines.
double total_usd(const LinearCosts& costs, const Plan& plan);
// What counts for a budget.
double total_rent_usd(const LinearCosts& costs, const Plan& plan);

// The plan with jobs postponed until the budget is kept: always the one that costs least for what it frees. Pinned jobs
// stay.
Plan within_budget(const LinearCosts& costs, Plan plan);

}  // namespace orrery::plan
