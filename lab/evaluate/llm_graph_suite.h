#pragma once
// Scores `predict --predictor operators` on measured training iterations of language models: `orrery evaluate
// llm-graph`.
//
// Unlike the suite `llm`, which sums the operators of a published graph, the operators come from the zoo's own graph of
// the model, and how they make an iteration from the composer that `orrery predict` uses. Measurements of the
// iteration's own device are not used. The formulas alone stand beside it.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_llm_graph_suite(const SuiteInput& input);

}  // namespace orrery::lab
