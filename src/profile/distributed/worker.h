#pragma once
// One worker: computes gradients on its own data, exchanges them for common parameters, and reports how long it took.

#include "profile/distributed/exchange.h"
#include "profile/executor.h"

namespace orrery::profile {

struct WorkerStep {
  Seconds start;     // on the machine's monotonic clock, which all its processes share
  Seconds computed;  // the gradients are there
  Seconds end;       // the new parameters are in the model
  double loss = 0;
};

struct WorkerReport {
  std::vector<WorkerStep> steps;
  std::optional<Traffic> traffic;  // in the steps alone
};

// Of the median step: its time, and the part until the gradients are there. Precondition: there is a step.
Seconds median_step(const std::vector<WorkerStep>& steps);
Seconds median_computing(const std::vector<WorkerStep>& steps);

Result<WorkerReport> train(Executor& executor, Exchange& exchange, int steps, const env::Clock& clock);

}  // namespace orrery::profile
