#pragma once
// Which part of a training step every node of a GraphDef belongs to.
//
// The rule, in this order; "needs" and "descends" follow data inputs only:
// 1. update roots: optimizer operators ([Resource][Sparse]Apply…), and AssignAdd, AssignSub, ScatterAdd, ScatterSub and
//    their forms for resource variables (step counters, moving averages, updates written by hand).
// 2. backward: what an update root needs and that is a gradient operator (its op ends in Grad, Grads or GradV2, or
//    contains Backprop but does not end in BackpropInput, or is BroadcastGradientArgs), or lies in a scope that the
//    framework makes for gradients (a part of the name, not the last, that is "gradients" or begins with "gradients_",
//    or ends in "_grad"), or descends from a backward node.
// 3. forward: what a backward node needs; the nodes that scopes of gradients are named after ("gradients/LOSS_grad/…"
//    is the gradient of LOSS), and what those need; the walk ends at inputs (is_graphdef_input), which are forward
//    themselves.
// 4. update: the roots, and what they need beyond that: the learning rate, the optimizer's state.
// 5. none: everything else: initialisers, savers, summaries, the input pipeline.
// In a graph without backward nodes, forward is what its results need: the losses if it has operators that are
// (is_graphdef_loss), otherwise the nodes whose output no node uses, except those that write, save, print or do
// nothing. Nodes of a loop may need each other; the rule stays the same.

#include <cstdint>
#include <string>
#include <vector>

#include "workload/import/graphdef/index.h"

namespace orrery::workload {

enum class GraphDefPhase { kNone, kForward, kBackward, kUpdate };
std::string_view to_string(GraphDefPhase phase);

struct GraphDefPhases {
  std::vector<GraphDefPhase> of;        // one per node
  std::vector<std::int32_t> results;    // of a graph without backward nodes: what forward was found from
  std::vector<std::string> optimizers;  // "RMSProp", "Momentum": distinct, in order
  std::vector<std::int32_t> trained;    // variables an optimizer operator updates, or an Assign… by a gradient
  std::int64_t trained_elements = 0;    // of those whose shape is known, at most 2^48
  bool has_backward = false;

  std::size_t count(GraphDefPhase phase) const;
};

GraphDefPhases graphdef_phases(const GraphDefIndex& index);

// Placeholders, iterators, dequeues, receives: where data enters a step.
bool is_graphdef_input(std::string_view op);
bool is_graphdef_variable(std::string_view op);
bool is_graphdef_loss(std::string_view op);

// Dimensions of a variable, by its `shape` or else by `_output_shapes`.
GraphDefShape variable_shape(const GraphDefNode& node);

}  // namespace orrery::workload
