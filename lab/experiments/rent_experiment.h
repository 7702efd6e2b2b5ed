#pragma once
// Renting by plan against simple rules, on the random instances of published_jobs.h.

#include "env/env.h"
#include "lab/experiments/published_jobs.h"
#include "lab/lab.h"
#include "plan/milp_policy.h"
#include "simulate/rent.h"

namespace orrery::lab {

struct LoopOptions {
  std::vector<int> nodes = {2, 5};
  std::vector<double> gaps_s = {30, 45, 6000};  // mean, between submissions
  int instances = 5;
  int jobs_per_node = 10;
  bool in_house = false;
  double switch_s = 0;  // lost when a job is started again, moved or resized
  std::uint64_t seed = 1;
  plan::MilpPolicyOptions milp{};
};

struct LoopRow {
  int nodes = 0;
  double gap_s = 0;
  int instance = 0;
  std::string policy;  // fifo, edf, priority, milp
  RentBill bill;
  plan::MilpPolicyStats stats;  // of milp
};

// Every policy on every instance, of jobs with these times (published_jobs.h, measured_kinds.h). `done` is called after
// each run.
Result<std::vector<LoopRow>> loop_experiment(const LoopOptions& options, const std::vector<KindTimes>& times,
                                             env::Env env, const std::function<void()>& done);

// Predicted against real cost: two nodes, four VM types, the six kinds in turn, a job every 300 s. Real times are
// predicted ones times exp(σ·N(0, 1)), one draw for every job and type of GPU. Due dates are submission + slack · U(1,
// 3) · shortest time.
enum class PrototypeErrors {
  kMeasured,   // σ = √(π/2) · the mean error measured for the kind (JobKind::mean_error)
  kPredicted,  // σ on either side from the 80 % interval that the predictor gives
};

struct PrototypeOptions {
  std::size_t jobs = 12;
  std::uint64_t seeds = 10;
  double gap_s = 300;
  double slack = 10;
  PrototypeErrors errors = PrototypeErrors::kMeasured;
  plan::MilpPolicyOptions milp{};
};

struct PrototypeRow {
  std::uint64_t seed = 0;
  RentBill predicted;  // had all times been as predicted
  RentBill real;

  double difference() const { return real.total_usd() / predicted.total_usd() - 1; }
};

Result<std::vector<PrototypeRow>> prototype_experiment(const PrototypeOptions& options,
                                                       const predict::Predictor& predictor, env::Env env,
                                                       const std::function<void()>& done);

}  // namespace orrery::lab
