#pragma once
// What good predictions are worth to AlloX and Hydra: they plan with wrong run times, jobs run as long as they do.
//
// PAI: a batch of jobs with deadlines on three types of machines (the cases Hydra published). Philly: the first jobs of
// the trace as they came, on as many machines as make the load; three in ten get a deadline of one to three run times.
// Errors are drawn independently for every job and type: log-normal with a mean relative error, or as our own
// predictions were wrong on measured runs (docs/results/accuracy.md).

#include <functional>

#include "base/result.h"
#include "env/files.h"
#include "lab/experiments/report.h"
#include "lab/lab.h"

namespace orrery::lab {

struct PredictionErrorExperiment {
  int seeds = 10;
  std::size_t batch_jobs = 400;
  std::size_t trace_jobs = 1000;
  double load = 1.1;
  std::string machines = "A100=10,V100=20,GTX2080Ti=15";
  int threads = 2;
};

// `data` is the folder that holds hydra_pai and philly.
Result<ExperimentReport> run_prediction_error_experiment(env::Files& files, const std::string& data,
                                                         const PredictionErrorExperiment& options,
                                                         const std::function<void()>& done);
// Times that `done` is called.
int prediction_error_steps();

}  // namespace orrery::lab
