#pragma once
// driple-ablations: what the parts of Driple's network are worth, on the runs of the driple suite.
//
// One part is changed at a time: grouping of nodes, graph layer, depth, readout. The network that is changed has the
// published parts but no grouping (the graphs have some thirty nodes): graph convolutions, half as many layers as
// nodes, Set2Set. Every network is trained with three seeds on the same training part, keeps the parameters of its
// least validation error and is scored on the test part.
//
// Rows report, beside what every suite does, nrmse_range as the driple suite defines it: the mean over seeds, the least
// and the largest; `change`, of the mean against the first row of the axis as a fraction; and `published_change`, where
// the paper gives one.

#include "predict/evaluate/suites.h"

namespace orrery::predict {

Result<SuiteReport> run_driple_ablations_suite(const SuiteInput& input);

}  // namespace orrery::predict
