#pragma once
// What it costs policies to know of jobs what a real cluster can know, instead of the truth.
//
// The jobs of the Pollux testbed that train models of the zoo, on 16 nodes of 4 T4 GPUs: batch, GPUs and times of steps
// as measured there, so that how jobs scale is measured and not assumed. Policies know
//   truth      run times and how jobs scale
//   fitted     run times, and what trial runs and running jobs show of how jobs scale (Optimus)
//   predicted  run times, and what is predicted of how jobs scale
//   live       steps times predicted step times, corrected by measured steps; scaling as predicted
//   history    run times of jobs that have ended; scaling that running jobs show; no prediction
// A second table says how wrong the predictions are: step times, and steps on other numbers of GPUs of one on the GPUs
// asked for.

#include <functional>

#include "base/result.h"
#include "env/files.h"
#include "lab/experiments/report.h"
#include "lab/lab.h"

namespace orrery::lab {

struct JobInputsExperiment {
  std::vector<std::string> policies = {"srtf", "optimus", "pollux", "sia", "flow"};
  double restart_s = 30;  // as in the published simulator
  double hurry = 1;       // jobs come this many times as fast
  int threads = 2;
};

// `data` is the folder that holds sched_pollux_sia.
Result<ExperimentReport> run_job_inputs_experiment(env::Files& files, const std::string& data,
                                                   const JobInputsExperiment& options,
                                                   const std::function<void()>& done);
// Times that `done` is called.
int job_inputs_steps(const JobInputsExperiment& options);

}  // namespace orrery::lab
