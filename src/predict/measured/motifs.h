#pragma once
// The structure of a model: the motif of an operator is its kind with the operators before it, three deep, without
// sizes. A model of an unseen family has unseen motifs, and one of a known family has nearly none, whatever its width,
// depth or input.
//
// A motif counts the kind; of convolutions and pools the window, strides and whether groups are apart; whether
// recurrences run both ways. The order of inputs does not matter.

#include <cstdint>
#include <vector>

#include "workload/graph.h"

namespace orrery::predict {

// One hash per operator.
workload::ByOperator<std::uint64_t> motifs_of(const workload::TrainingGraph& graph);

}  // namespace orrery::predict
