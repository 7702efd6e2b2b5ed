#pragma once
// Runs a job trace under policies by name, several at a time.

#include "env/env.h"
#include "schedule/policies.h"
#include "simulate/engine.h"
#include "simulate/fitted_scaling.h"
#include "simulate/perturbed_scaling.h"
#include "simulate/speed_model.h"
#include "simulate/speed_tables.h"

namespace orrery::simulate {

// What elastic policies know of how jobs scale.
enum class ScalingKnowledge {
  kKnown,      // all
  kFitted,     // what trial runs and running jobs show (fitted_scaling.h)
  kPredicted,  // what is predicted, and running jobs show (schedule/predicted_scaling.h)
};

struct RunSetup {
  schedule::Machines machines;
  std::vector<std::string> devices{};  // names of their types, by MachineView::device
  InterferenceTable interference{};
  LocalityTable locality{};
  std::string placement = "consolidated";
  CurveOptions curve{};
  EngineOptions engine{};
  double elastic = 4;  // jobs without a maximum may grow to this many times the GPUs they ask for
  double round_s = 0;  // of policies that work in rounds; 0: their own
  ScalingKnowledge scaling = ScalingKnowledge::kKnown;
  StepTimes step_times{};       // how jobs really scale, where that was measured
  StepTimes predicted_times{};  // how they are predicted to
  TrialOptions trials{};
  double young_factor = 0.95;  // of the gains of young jobs then
  ScalingErrors scaling_errors{};
  schedule::GandivaOptions gandiva{};
  const env::Env* env = nullptr;  // borrowed; milp takes from it the time its plans need
};

// Those of the module `schedule`, and milp (plan/milp_policy.h), which can be made only with a clock; it is borrowed.
std::vector<schedule::PolicyRecord> runnable_policies(const env::Env* env = nullptr);

Result<RunResult> run_policy(const JobTrace& job_trace, const RunSetup& setup, std::string_view policy);

// The error names the first that does not exist, and its nearest match.
Status check_policies(const std::vector<std::string>& policies);

// Results in the order of `policies`, for any number of threads: a policy that refuses the job trace does not affect
// the others. `done` is called under a lock, from the thread of the run.
std::vector<Result<RunResult>> run_policies(const JobTrace& job_trace, const RunSetup& setup,
                                            const std::vector<std::string>& policies, int threads,
                                            const std::function<void()>& done);

}  // namespace orrery::simulate
