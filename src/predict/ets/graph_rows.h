#pragma once
// A training run as rows of a launch trace, one for every step of its graph that runs: what the ETS network
// (neural/sequence_model.h) sees of a model that was never run. Times that were measured are laid upon the same rows,
// so that what is learned from and what is asked about look alike.
//
// A row has the kind of its operator under the name that the published traces use, the phase, arithmetic and bytes as
// workload/cost.h counts them, and as parameters: of a convolution what the traces have (channels and sides of input
// and output, window, padding, stride, dilation, groups), of any other operator the dimensions of its output and of its
// inputs; of an update those of the tensors it changes.

#include <map>

#include "hardware/device.h"
#include "predict/ets/launch_trace.h"
#include "workload/training_run.h"

namespace orrery::predict {

struct GraphRows {
  LaunchTrace trace;               // without times
  std::vector<std::size_t> steps;  // of each row: its place in the run's execution order
};

// Steps that are views are no rows, except on a processor.
GraphRows graph_rows(const workload::TrainingRun& run, hardware::DeviceKind device);

// The names of the kinds in such rows.
const std::map<std::int32_t, std::string>& graph_row_kinds();

// Execution and gap of a step, microseconds.
struct StepTime {
  double execution = 0, gap = 0;
};
// Gives each row the times of its step. Times of steps without a row go to the row before as a gap: no time is lost.
// Precondition: one time for every step of the run.
void add_times(GraphRows& rows, const std::vector<StepTime>& times);

}  // namespace orrery::predict
