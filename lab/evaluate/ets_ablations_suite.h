#pragma once
// What each choice of the ETS network is worth: `orrery evaluate ets-ablations`. One choice is changed at a time:
// structure, layers 1 to 6, width 4 to 24 (stride half of it), stride 1 to 12, loss, and departures of ours (sizes as
// logarithms, times as logarithms, a constant learning rate).
//
// Every cell is trained on the same traces of one GPU, with the same number of steps of the same number of operators
// each, and scored on the same fold of configurations that none has seen. Groups are called "layers: 4"; the cell of
// the published choice stands in every axis and is trained once. To be over in minutes, a subset is taken: four
// families of one GPU (all families when the folder has none of them).

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_ets_ablations_suite(const SuiteInput& input);

}  // namespace orrery::lab
