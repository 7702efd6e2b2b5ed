#pragma once
// Optimus against DRF and Tetris, as its paper compares them (Peng et al., EuroSys 2018, section 6).
//
// Jobs of the paper's mix (generate.h) on 13 machines, all policies with the same jobs, costs of restarts and curve of
// scaling. Synchronous training has a growing cost of more workers (CurveOptions::growth), asynchronous training has
// none. `equal-share` is DRF for jobs that may grow, which separates what elasticity is worth from what marginal gains
// are worth. All figures are means over seeds of jobs.

#include <functional>

#include "base/result.h"
#include "lab/experiments/report.h"
#include "lab/lab.h"

namespace orrery::lab {

struct OptimusExperiment {
  int seeds = 10;
  int jobs = 100;
  int machines = 13, gpus_per_machine = 4;
  double load = 1.0;         // GPU time asked for / GPU time there is while jobs come
  double restart_s = 30;     // without work after a suspension, move or change of GPUs
  double growth = 0.005;     // of synchronous training: fastest with 14 GPUs
  double spread_cost = 0.1;  // for every machine beyond the fewest
  double trial_noise = 0.2;  // of trial runs, where the 0.95 factor is tried
  double young_error = 0.5;  // of convergence of young jobs, there
  int threads = 2;
};

Result<ExperimentReport> run_optimus_experiment(const OptimusExperiment& options, const std::function<void()>& done);

// Runs that `done` is told of.
int optimus_experiment_steps();

}  // namespace orrery::lab
