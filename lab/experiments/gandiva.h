#pragma once
// What Gandiva's paper shows (Xiao et al., OSDI 2018): six jobs that share four GPUs over time, when packing pays, jobs
// that move and grow, how much work a crowded cluster gets done, and how soon everybody sees first results.

#include <functional>

#include "base/result.h"
#include "env/files.h"
#include "lab/experiments/report.h"
#include "lab/lab.h"

namespace orrery::lab {

struct GandivaExperiment {
  int seeds = 5;
  int machines = 45, gpus_per_machine = 4;  // 180 GPUs, as published
  int jobs = 3000;                          // of Philly's kind, using GPUs as measured jobs do
  double load = 3;                          // GPU time asked for / GPU time there is while jobs come
  double feedback_s = 60;                   // on GPUs, until a job shows something
  double switch_s = 1;                      // without work whenever a job goes on or moves
  int threads = 2;
};

// `pairs` is the folder of measured pairs (measured_pairs.h).
Result<ExperimentReport> run_gandiva_experiment(env::Files& files, const std::string& pairs,
                                                const GandivaExperiment& options, const std::function<void()>& done);

}  // namespace orrery::lab
