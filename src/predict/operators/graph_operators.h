#pragma once
// Which measured operators a step of a training graph runs, as an eager framework does it.
//
//   linear y = x·W            forward one product, backward one for each of x and W
//   matrix product, attention batched products; attention is taken apart into products, a scaling and a softmax
//   layer norm, softmax       forward their own kernels, backward one that reads two tensors and writes one
//   activations, arithmetic   one pass over their operands
//
// Everything else (convolutions, embeddings, losses, layout, updates) has no operators here.

#include <vector>

#include "predict/operators/operator_rows.h"
#include "workload/graph.h"

namespace orrery::predict {

struct GraphWork {
  OperatorClass operator_class = OperatorClass::kElementwise;
  OperatorShape shape;
};

// Empty: none of them is known.
std::vector<GraphWork> known_operators(const workload::TrainingGraph& graph, const workload::PhaseStep& step);

}  // namespace orrery::predict
