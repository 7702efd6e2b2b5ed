#pragma once
// Measured use of a GPU by trainings of multi-layer perceptrons (driple/gpumemnet: peak memory and five kinds of
// activity), drawn 60 : 20 : 20 into training, validation and test. Repetitions of a run stay together; a --test folder
// takes the place of the last part.

#include "lab/evaluate/resource_models.h"
#include "lab/lab.h"
#include "predict/readers/resource_examples.h"

namespace orrery::lab {

// Moves but does not copy: the parts point into what was read.
struct ResourceRuns {
  NamedExamples known, kept;
  Examples train, validation, test;
};

// Fails if a part has fewer than 20 runs.
Result<ResourceRuns> read_resource_runs(const SuiteInput& input);

// The published shares of operators.
Result<OpFrequencies> read_op_frequencies(const SuiteInput& input);
// Fills the parts from what is known and kept. Fails likewise.
Status draw_parts(ResourceRuns& runs, std::uint64_t seed);

}  // namespace orrery::lab
