#pragma once
// LaunchTrace: one training iteration on a GPU as its host launched it and its device ran it, operator by operator.
// Times in here are microseconds: they are sums of thousands of small ones.

#include <cstdint>
#include <string>
#include <vector>

#include "workload/graph.h"

namespace orrery::predict {

// What is known of an operator before it runs.
struct LaunchedOperator {
  std::int32_t kind = 0;  // number of its name
  workload::Phase phase = workload::Phase::kForward;
  std::int32_t kernels = 1;
  double flops = 0;  // as the profiler estimated them; 0: it did not
  double bytes = 0;
  double grid = 0;   // blocks of its largest kernel
  double block = 0;  // threads of its largest block
  std::vector<std::int32_t> parameters;
};

// What was measured of it.
struct LaunchTimes {
  double device = 0;    // Σ time of its kernels, less what ran beside the next operator's
  double gap = 0;       // until the next operator's first kernel starts
  double interval = 0;  // of the host: from the launch of the operator before to its own
  double launch = 0;    // of the host: from its first launch to the end of its last
};

struct LaunchTrace {
  std::string id;
  std::string gpu;
  std::string model;
  std::string family;
  std::int64_t batch = 0;
  std::int64_t image = 0;  // side, in pixels
  bool overlaps = false;   // kernels ran side by side
  double iteration = 0;    // the truth: Σ device + max(gap, 0), or the span when kernels overlap
  double first_start = 0;  // of the first kernel after its launch
  std::vector<LaunchedOperator> operators;
  std::vector<LaunchTimes> times;  // one per operator
};

}  // namespace orrery::predict
