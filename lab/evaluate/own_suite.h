#pragma once
// Scores the step model on a data set of this tool (`orrery dataset build`; the one that ships unless another is
// given): `orrery evaluate own`.
//
// Groups: "families" and "RandWire", configurations never seen, five folds drawn at random, and the same by number of
// operators and by family; "families never seen", each family left out in turn. Beside them, on the same folds: boosted
// trees on totals of the graph (operators, arithmetic, bytes, parameters, batch), and the prior alone, scaled by one
// factor; with `baselines` also the networks of others (predict/baselines).

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_own_suite(const SuiteInput& input);

}  // namespace orrery::lab
