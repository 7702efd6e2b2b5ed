#pragma once
// A GraphDef as a training graph: its forward part in our operators. docs/reference/formats/graphdef.md has the rules.
//
// Backward and update follow from the operators, as for every other model; the file's own tell only which variables are
// learned. Our images are [batch, channels, height, width]. A tensor that an image operator of the file has as [batch,
// height, width, channels] is kept in our order and followed through operators that work in any order; the others get a
// view in the order of the file.

#include "workload/graph.h"
#include "workload/import/graphdef/index.h"

namespace orrery::workload {

// Of batch 1 if the graph leaves the batch open or can be run with another one; the batch of the file otherwise. Errors
// name the node.
Result<TrainingGraph> translate_graphdef(const GraphDef& graph, const std::string& name);

}  // namespace orrery::workload
