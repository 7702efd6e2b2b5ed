#pragma once
// Measured iterations of real models as Driple's network sees them: graphs of hundreds to thousands of nodes, where
// those of resource_runs.h have thirty.
//
// From the data set of iterations that ships (data/cpu.dataset), drawn 60 : 20 : 20 into training, validation and test;
// noisy ones are left out. Graphs are what TensorFlow would run (driple/node_graph.h). The metrics are the times of the
// forward pass, the backward pass and the whole iteration as log10 of microseconds: they span four orders of magnitude,
// and raw ones would be a matter of the few longest.

#include "lab/evaluate/resource_runs.h"
#include "lab/lab.h"

namespace orrery::lab {

inline constexpr std::string_view kShippedIterations = "data/cpu.dataset";  // in the source tree

Result<ResourceRuns> read_own_graph_runs(const SuiteInput& input);

}  // namespace orrery::lab
