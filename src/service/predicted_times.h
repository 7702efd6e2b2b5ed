#pragma once
// How the jobs of a trace scale on a cluster, as predicted for the models that they name.

#include "service/clusters.h"
#include "simulate/step_times.h"

namespace orrery::service {

struct PredictedTimes {
  simulate::StepTimes times;
  std::string note{};  // for people: of how many jobs nothing is predicted, and why; empty: of none
};

// Of every model of the zoo in the trace with every batch (simulate::batch_of), on the type of GPU of which the cluster
// has most: on 1, 2, 4, ... GPUs, whole machines, and the numbers that its jobs ask for. Numbers on which the model does
// not fit into memory are left out.
// `must`: it is an error if nothing can be predicted; it names the field.
Result<PredictedTimes> predict_step_times(const simulate::JobTrace& job_trace, const ClusterChoice& cluster, bool must,
                                          const FieldNames& names);

}  // namespace orrery::service
