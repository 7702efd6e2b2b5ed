#pragma once
// Memory of one device for a training run, as a monitor of the device would show it at the peak.
//
//   total = parameters + gradients + optimizer states + activations + temporaries + workspace + buckets + framework
//
// workspace = 5.8 × the largest (input + output) of a convolution with a window above 1×1: while a library looks for
// the fastest algorithm it tries those that keep transformed copies of both. framework is the device context and loaded
// kernels. `orrery-lab evaluate memory` scores these rules against measurements.

#include "predict/analytic/tensor_parallel.h"
#include "predict/prediction.h"
#include "workload/training_run.h"

namespace orrery::predict {

// One pipeline stage: the operators [first, last), and how many micro-batches are in flight there.
struct Stage {
  workload::OperatorIndex first, last;
  int in_flight = 1;

  IndexRange<workload::OperatorIndex> operators() const { return {first, last}; }
};

// `graph` is the run's graph at the size of one micro-batch.
MemoryBreakdown stage_memory(const workload::TrainingRun& run, const workload::TrainingGraph& graph,
                             const TensorSplit& split, const Stage& stage, bool on_host);

}  // namespace orrery::predict
