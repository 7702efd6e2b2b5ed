#pragma once
// ExecutionTrace: the operators of one training iteration in the order they ran, each with its execution time and the
// gap until the next one starts. What the profiler measures, what trace readers extract from files of other tools, and
// what time predictors learn from.
//
// The sum of all execution times and gaps is the iteration time (Yang et al., ETS: T = Σ (e_i + g_i)). When one
// operator runs as several kernels, `execution` is the sum of theirs and the idle time between them is part of its gap.

#include <string>
#include <vector>

#include "base/units.h"
#include "workload/graph.h"

namespace orrery::trace {

struct TracedOperator {
  workload::OperatorIndex index;  // in the graph that was run; none: a trace without a graph
  workload::Phase phase = workload::Phase::kForward;
  std::string name;  // in the graph ("layer1.0.conv1"), or as the tool that recorded it wrote it
  std::string kind;  // "conv2d"
  Seconds start;     // since the start of the iteration
  Seconds execution;
  Seconds gap;
  std::vector<std::vector<std::int64_t>> inputs;  // their shapes
  Flops flops;
  Bytes bytes;
};

struct ExecutionTrace {
  std::string model;
  std::string device;
  std::string optimizer;
  std::int64_t batch = 0;
  std::vector<TracedOperator> operators;

  Seconds iteration() const;  // Σ (execution + gap)
  Seconds execution(workload::Phase phase) const;
  Seconds gaps(workload::Phase phase) const;
};

}  // namespace orrery::trace
