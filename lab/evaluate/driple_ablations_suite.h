#pragma once
// driple-ablations: what the parts of Driple's network are worth, on the runs of the driple suite.
//
// One part is changed at a time: grouping of nodes, graph layer, depth, readout. The network that is changed has graph
// convolutions, log2 of the nodes as layers, Set2Set and no grouping. Grouping is asked about a second time on graphs
// of real models (own_graph_runs.h), which are large enough to need it; they are left out where that file is missing.
//
// Every network is trained with three seeds on the same training part and ends by itself (validated_training.h): the
// learning rate is held until the validation error has not fallen by 1 % for 300 steps of 16 graphs, then falls to 0 in
// 300 more. It is 0.003, and 0.001 for networks of half as many layers as nodes or as many: steps of weights that are
// applied so often add up. The parameters of the least validation error are scored on the test part. A training that
// had not settled after 5,000 steps, or those of --steps, is named in a note.
//
// Rows report, beside what every suite does, nrmse_range as the driple suite defines it: the mean over seeds, the least
// and the largest; `change`, of the mean against the first row of the axis as a fraction; `steps`, the mean number; and
// `published_change`, where the paper gives one.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_driple_ablations_suite(const SuiteInput& input);

}  // namespace orrery::lab
