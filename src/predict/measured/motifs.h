#pragma once
// How a model is built, piece by piece: the motif of an operator is its kind with what computes before it, three
// operators deep, without sizes. A model of a family that was never seen has motifs that were never seen, and one of a
// family that was has nearly none, whatever its width, depth or input.
//
// A motif counts the kind; of convolutions and pools the window, strides and whether groups are apart; whether
// recurrences run both ways. The order of inputs does not matter.

#include <cstdint>
#include <vector>

#include "workload/graph.h"

namespace orrery::predict {

// One hash per operator.
std::vector<std::uint64_t> motifs_of(const workload::TrainingGraph& graph);

}  // namespace orrery::predict
