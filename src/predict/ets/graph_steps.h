#pragma once
// Assigns the device's times of a launch trace to the steps of the same model's graph, so that a model of steps
// (measured/step_model.h) can learn a GPU from published traces.
//
// 1. Forward rows and the graph's operators are walked together: a row belongs to the next operator of its kind at most
//    kReach operators on, and a convolution or linear layer only to one of its shape. Operators that are views have no
//    row; a row without an operator counts as lost.
// 2. A backward row belongs to the operator of the forward row it matches (backward_match.h).
// 3. Hidden time behind a backward row is divided among the operators it hides; where the device waited for the host it
//    cannot be distinguished from waiting, and those operators stay unknown (0).
// 4. Update rows come three per tensor; an operator's update takes what tensors of its parameters' shapes took.

#include <map>

#include "predict/ets/graph_rows.h"
#include "predict/ets/launch_features.h"
#include "predict/measured/step_model.h"

namespace orrery::predict {

// `kinds` names the trace's kinds. Fails when more than kLostMax of the forward time finds no operator: then `run` is
// not the model that was traced.
inline constexpr double kLostMax = 0.05;
Result<MeasuredSteps> graph_steps(const LaunchContext& context, const std::map<std::int32_t, std::string>& kinds,
                                  workload::TrainingRun run);

// The same with all that the trace measured, waits for the host as well: execution and gap of every step of the run's
// execution order, which add up to the rows of the trace. A row's times go to its operator, or to the operator of the
// row before if it has none. A gap that hides kernels of other operators is shared with them: by their physical
// estimates where the device was never idle (then it is execution), evenly where it waited for the host. Times of an
// update go to the tensors of its shape. Fails likewise.
Result<std::vector<StepTime>> all_step_times(const LaunchContext& context,
                                             const std::map<std::int32_t, std::string>& kinds,
                                             const workload::TrainingRun& run);

}  // namespace orrery::predict
