#pragma once
// Sia (SOSP'23), in its style: every round an assignment of configurations to elastic jobs on several types of GPUs.
//
// Assumes: elastic jobs (from one GPU up); how jobs scale is known; on several types speeds by type are known.
// 1. A configuration is a type and a number of GPUs: powers of two up to a machine of that type, and whole machines
//    beyond. One that the job cannot use is left out.
// 2. Its worth: speed there / speed in the job's slowest configuration, at least 1; times max(age - n S, 0) / (age + S)
//    where it is not what the job has now (age since submission, n restarts so far, S seconds each).
// 3. Cost of a job with worth g: g^p, p = -0.5; without GPUs: lambda = 1.1. The assignment with the least sum of costs
//    within the GPUs of each type is an integer program; here it is built from nothing by steps, each the change of one
//    job's configuration that lowers the sum most for each GPU it takes (first those that take none). On one type that
//    follows the best points of the relaxed program, and misses it by less than one job.
// 4. Jobs that keep their configuration keep their GPUs. Nothing is decided while no job comes, ends or waits.
// Jobs that must not be suspended yet keep their GPUs. Ties: earlier submission, then the earlier configuration.
// O(steps x jobs x configurations) per round. Source: Jayaram Subramanya et al., "Sia" (SOSP 2023), section 3.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"
#include "schedule/scaling_model.h"

namespace orrery::schedule {

struct SiaOptions {
  double round_s = 60;
  double power = -0.5;
  double waiting_cost = 1.1;
  double restart_s = 30;
};

// `model` is borrowed and must outlive the policy.
std::unique_ptr<Policy> make_sia(const SiaOptions& options, const ScalingModel& model, std::unique_ptr<Placer> placer);

// Step 3 by itself: costs of every job by configuration, the GPUs and type of each configuration; -1: no GPUs.
struct ConfigurationProblem {
  struct Configuration {
    std::int32_t type = 0;
    int gpus = 1;
  };
  std::vector<Configuration> configurations{};
  std::vector<std::vector<double>> costs{};  // by job; infinite: cannot be used
  double waiting_cost = 1.1;
  std::vector<int> gpus{};  // by type
};
std::vector<int> assign_configurations(const ConfigurationProblem& problem);

}  // namespace orrery::schedule
