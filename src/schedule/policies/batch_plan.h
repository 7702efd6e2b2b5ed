#pragma once
// A batch of jobs that all exist at the start, each on one machine from start to end: the model of AlloX and Hydra.

#include <limits>
#include <span>
#include <vector>

#include "base/result.h"

namespace orrery::schedule {

inline constexpr double kNoDeadline = std::numeric_limits<double>::infinity();

struct BatchJob {
  std::vector<double> runtime_s;  // by type of machine; above 0; infinite: it cannot run there
  double deadline_s = kNoDeadline;
};

struct BatchProblem {
  std::vector<int> machines;  // of each type
  std::vector<BatchJob> jobs;
};

struct BatchPlace {
  int type = -1;
  int machine = -1;  // of its type
  int order = -1;    // from the start of the machine's queue
  double start_s = 0;
  double end_s = 0;
};

struct BatchPlan {
  std::vector<BatchPlace> places;  // by job
  double total_s = 0;              // sum of completion times
  double overrun_s = 0;            // sum of the overruns of deadlines
  int late = 0;                    // jobs that miss their deadlines
};

// Machines of every type, at least one job, and every runtime above 0, on at least one type finite.
Status validate(const BatchProblem& problem);

// A machine's queue: jobs in the order in which they run.
struct BatchQueue {
  int type = 0;
  int machine = 0;
  std::vector<int> jobs;
};

// Times and sums of queues that together hold every job once.
BatchPlan plan_of(const BatchProblem& problem, std::span<const BatchQueue> queues);

}  // namespace orrery::schedule
