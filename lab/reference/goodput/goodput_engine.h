#pragma once
// A cluster in rounds whose jobs progress by goodput: the world of the Pollux simulator, job by job.
//
// 1. Every round, all jobs advance by its length; a job that was placed anew first waits for the re-scale delay.
// 2. With r GPUs, batch b per GPU and a accumulations, the batch is M = r b (a + 1), a step takes
//    step + a (step - sync), and progress per second is gain(M, epoch) / step time.
// 3. At the end of an epoch the time since the last change of speed is rounded to whole seconds, half to even. A job is
//    done when its last epoch is.
// 4. Then the policy is asked; jobs whose GPUs changed restart.

#include <functional>
#include <memory>

#include "lab/lab.h"
#include "schedule/dispatcher.h"
#include "schedule/policies/pollux.h"
#include "schedule/policy.h"
#include "simulate/readers/application.h"

namespace orrery::lab {

struct GoodputJob {
  std::string name;
  const Application* application = nullptr;
  double submit_s = 0;
  int gpus = 1;   // asked for
  int batch = 0;  // of all GPUs together
};

using GoodputJobs = IndexedVector<schedule::JobIndex, GoodputJob>;

struct GoodputOptions {
  int round_s = 60;
  int rescale_s = 30;
  int rounds_max = 1'000'000;
  bool adapts_batch = false;  // every job trains with the batch that is best where it runs, epoch by epoch
};

struct GoodputOutcome {
  double end_s = -1;
  int restarts = 0;
};

struct GoodputResult {
  IndexedVector<schedule::JobIndex, GoodputOutcome> jobs;  // as given
  double makespan_s = 0;
  std::uint64_t decision_hash = 0;
};

using GoodputPolicy =
    std::function<std::unique_ptr<schedule::Policy>(const schedule::ClusterView&, const schedule::GoodputModel&)>;

// Jobs must be in order of submission. An error names the first step time that is missing and was needed.
Result<GoodputResult> simulate_goodput(const GoodputJobs& jobs, const schedule::Machines& machines,
                                       const GoodputPolicy& policy, const GoodputOptions& options = {});

}  // namespace orrery::lab
