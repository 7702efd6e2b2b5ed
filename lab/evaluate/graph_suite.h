#pragma once
// ets-graph: how long a GPU is busy with an iteration, from the graph alone, against published launch traces. What
// `orrery predict` knows of a GPU it has measurements of.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_graph_suite(const SuiteInput& input);

}  // namespace orrery::lab
