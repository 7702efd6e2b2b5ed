#pragma once
// Optimus (EuroSys'18) for all-reduce jobs: the unit is a GPU ("Optimus+Oracle" of the Pollux simulator).
//
// Assumes: elastic jobs; predicted step times on any number of GPUs and predicted steps left (ScalingModel); a change
// of the number of GPUs is a restart.
// 1. Every round, in order of submission, every unfinished job gets one GPU while GPUs last.
// 2. Gain of one more GPU: (step(k) - step(k + 1)) x steps left; 0 when the job cannot use k + 1 GPUs. Times
//    `young_factor` while a job has run for less than `young_s`, because its predictions are uncertain.
// 3. While GPUs are left, the job with the largest positive gain gets one more.
// 4. Jobs whose number did not change keep their GPUs, unless a worker has less than half the speed of the median one:
//    it is replaced. The others are placed by increasing number of GPUs.
// On several types of devices a job stays on one: that of step 1, where a running job gets a GPU of its own type, and
// any other job one of the fastest type that has some left. A step takes as much longer as the job is slower there.
// Jobs that must not be suspended yet keep what they have and are left out of 1 to 3.
// With `equal_shares` the gain of one more GPU is 1 / k instead, as long as the job can use it: each GPU goes to the
// job with the fewest: max-min fairness, which for one resource equals DRF. Ties: in 3 and 4 earlier submission.
// Source: Peng et al., "Optimus" (EuroSys 2018); petuum/adaptdl osdi21-artifact. O((jobs + GPUs) log jobs) per round.

#include <memory>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"
#include "schedule/scaling_model.h"

namespace orrery::schedule {

inline constexpr double kStragglerSpeed = 0.5;  // of the median worker; slower ones are replaced

struct OptimusOptions {
  double round_s = 600;
  double young_factor = 1;  // the paper has 0.95
  double young_s = 0;
  bool equal_shares = false;
};

// `model` is borrowed and must outlive the policy.
std::unique_ptr<Policy> make_optimus(const OptimusOptions& options, const ScalingModel& model,
                                     std::unique_ptr<Placer> placer);

}  // namespace orrery::schedule
