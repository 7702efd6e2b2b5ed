#pragma once
// What a plan costs, term by term. With T now, H the horizon, p the price of a machine per second, G its GPUs, t the
// time left of a job on g GPUs, d its due date and w its weight:
//
//   wait, rho    every node: p·H·(1 − used/G) for idle GPUs
//                every running job: p·g/G·t + w·max(0, T + t − d)
//                every postponed job: q (below)
//   first_end    θ = min(H, shortest t that was chosen); every node: p·θ
//                every running job: w·max(0, T + t − d)
//                every postponed job: ρ·w·max(0, T + H + M − d), M its longest time on any machine
//                at least min(jobs, nodes) jobs run, unless no type of machine may be opened
//
//   q of wait    min over machines and g of [p·g/G·t + w·max(0, T + f·W + t − d)] + w·κ·H,
//                W = max(H, Σ_j shortest time of j / nodes)
//   q of rho     min over machines and g of [p·g/G·t + w·max(0, T + H + t − d)] + w·(ρ·max(0, T + H + M − d) + κ·H)
//
// A job on several machines (spread.h) has all GPUs of each, g = G, pays for every one and is late once.
// t contains what a job loses when it does not continue as it is (Job::switch_s), always so if it is postponed.
//
// Source: the Politecnico di Milano line of capacity planning, as restated in docs/reference/planning.md.

#include <string_view>
#include <vector>

#include "plan/instance.h"
#include "plan/plan.h"

namespace orrery::plan {

enum class Objective { kWait, kRho, kFirstEnd };

std::string_view to_string(Objective objective);

struct CostSplit {
  long double rental_usd = 0;  // shares of running jobs; under first_end the nodes
  long double idle_usd = 0;
  long double tardiness_usd = 0;
  long double postponed_usd = 0;

  long double total_usd() const { return rental_usd + idle_usd + tardiness_usd + postponed_usd; }
};

// What each job pays if it is postponed.
std::vector<double> postponed_usd(const Instance& instance, Objective objective);

// θ of first_end: the time until the next event. The horizon if nothing runs.
double first_end_s(const Instance& instance, const Plan& plan);

// Precondition: check_plan() accepts the plan.
CostSplit plan_cost(const Instance& instance, Objective objective, const Plan& plan);

// How many jobs must run at least.
std::size_t running_min(const Instance& instance, Objective objective);

}  // namespace orrery::plan
