#pragma once
// Jobs on rented machines: a market (plan/market.h) as a cluster for the engine, and the bill afterwards.
//
//   rental     Σ machines Σ intervals with a job   price · length
//   idle       the part of it for GPUs that held no job
//   tardiness  Σ jobs                              weight · max(0, end − due)
//
// Policies see one list of times; jobs really take another, which may be the same.

#include "plan/market.h"
#include "simulate/engine.h"

namespace orrery::simulate {

struct RentBill {
  double rental_usd = 0;
  double idle_usd = 0;  // part of rental_usd
  double tardiness_usd = 0;
  int late = 0;        // jobs
  int nodes_most = 0;  // open at once

  double total_usd() const { return rental_usd + tardiness_usd; }
};

struct RentRun {
  RunResult run;
  RentBill bill;
};

// By submission, as required; the times that the policy sees.
struct RentJobs {
  plan::MarketJobs believed;
  plan::MarketJobs real;  // the same jobs
};

using MakeRentPolicy = std::function<std::unique_ptr<schedule::Policy>(const plan::Market&, const plan::MarketJobs&)>;

// kInfeasible: a job that no VM type can run. kInternal: the policy opened more nodes than it may, or left jobs behind.
Result<RentRun> simulate_rent(const plan::Market& market, const RentJobs& jobs, const MakeRentPolicy& policy,
                              const Costs& costs = {});

// Added up from the holdings of jobs over time. kInternal: more machines were open at once than the market has nodes.
Result<RentBill> rent_bill(const plan::Market& market, const plan::MarketJobs& jobs, const RunResult& run);

}  // namespace orrery::simulate
