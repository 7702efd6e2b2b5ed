#pragma once
// How Optimus learns how jobs scale: short trial runs, a fitted formula, and what running jobs show.
//
// 1. The first job of a model makes `trials` trial runs: on 1 GPU, on the most it can use, and on others between drawn
//    at random; with parameter servers, as many of them, or also drawn. Each gives its step time with an error of
//    exp(N(0, noise)). Jobs of one model share what is known; a job without a model is a model of its own. The first
//    start of such a job takes the time of its trials (trial_jobs(), EngineOptions::first_starts).
// 2. While a job runs its step time is measured: one more sample for its model.
// 3. A measured number of GPUs has the mean of its samples. Anything else follows the formula of Optimus for
//    synchronous training, fitted to all samples (predict/scaling); GPUs alone count as workers with as many servers.
// Steps left are those predicted for the job, as everywhere. Source: Peng et al., "Optimus" (EuroSys 2018),
// section 3.2.

#include <map>
#include <optional>
#include <string>

#include "predict/scaling/ps_formula.h"
#include "schedule/scaling_model.h"
#include "simulate/job_trace.h"
#include "simulate/speed_model.h"

namespace orrery::simulate {

struct TrialOptions {
  int trials = 5;
  double noise = 0.05;
  double trial_s = 10;  // each
  bool with_servers = false;
  std::uint64_t seed = 1;
};

// Whether each job is the first of its model, which makes the trials.
std::vector<bool> trial_jobs(const JobTrace& job_trace);

class FittedScaling : public schedule::ScalingModel {
 public:
  // View, speed and job trace are borrowed.
  FittedScaling(const schedule::ClusterView& view, const CurveSpeed& speed, const JobTrace& job_trace,
                const TrialOptions& options);

  double step_s(schedule::JobIndex job, int gpus) const override;
  std::optional<schedule::PsSpeed> ps_speed(schedule::JobIndex job) const override;
  double steps_left(schedule::JobIndex job) const override { return known_.steps_left(job); }
  int gpus_max(schedule::JobIndex job) const override { return known_.gpus_max(job); }

 private:
  // Of step times, in those of one GPU.
  struct Samples {
    double sum = 0;
    int count = 0;
  };
  struct Tasks {
    int workers = 0, servers = 0;
    friend auto operator<=>(const Tasks&, const Tasks&) = default;
  };
  struct Model {
    std::map<Tasks, Samples> by_tasks;
    std::map<schedule::JobIndex, Tasks> seen;  // of the last measurement of each running job
    std::optional<predict::PsFormula> formula;
  };

  Model& model_of(schedule::JobIndex job) const;
  void make_trials(schedule::JobIndex job, Model& model) const;
  void measure(schedule::JobIndex job, Model& model) const;
  static void fit(Model& model);
  static double time_on(const Model& model, const Tasks& tasks);

  const schedule::ClusterView& view_;
  const CurveSpeed& speed_;
  const JobTrace& job_trace_;
  TrialOptions options_;
  CurveScaling known_;
  mutable std::map<std::string, Model> models_;  // what was learned; asked by one policy of one run
};

}  // namespace orrery::simulate
