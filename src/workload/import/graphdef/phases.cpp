#include "workload/import/graphdef/phases.h"

#include <algorithm>
#include <array>

#include "workload/import/constant.h"

namespace orrery::workload {

namespace {

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// "ResourceSparseApplyRMSProp" → "RMSProp"; empty for any other operator.
std::string_view optimizer_of(std::string_view op) {
  for (const std::string_view prefix : {"Resource", "Sparse"}) {
    if (op.starts_with(prefix)) op.remove_prefix(prefix.size());
  }
  constexpr std::string_view kApply = "Apply";
  return op.starts_with(kApply) && op.size() > kApply.size() ? op.substr(kApply.size()) : std::string_view();
}

bool is_step_assignment(std::string_view op) {
  constexpr std::array<std::string_view, 8> kOps = {"AssignAdd",           "AssignSub",         "AssignAddVariableOp",
                                                    "AssignSubVariableOp", "ScatterAdd",        "ScatterSub",
                                                    "ResourceScatterAdd",  "ResourceScatterSub"};
  return is_one_of(kOps, op);
}

// Not the backward of a convolution's input: forward uses it too, as a transposed convolution. In backward it descends
// from a gradient.
bool is_gradient_op(std::string_view op) {
  if (op.ends_with("BackpropInput")) return false;
  return op.ends_with("Grad") || op.ends_with("Grads") || op.ends_with("GradV2") ||
         op.find("Backprop") != std::string_view::npos || op == "BroadcastGradientArgs";
}

bool is_gradient_part(std::string_view part) {
  return part == "gradients" || part.starts_with("gradients_") || part.ends_with("_grad");
}

// Where in `name` the scope "gradients/" ends; 0: it is in no scope of gradients.
std::size_t end_of_gradient_scope(std::string_view name) {
  for (std::size_t begin = 0, slash; (slash = name.find('/', begin)) != std::string_view::npos; begin = slash + 1) {
    if (is_gradient_part(name.substr(begin, slash - begin))) return slash + 1;
  }
  return 0;
}

// Operators that give no result of the model.
bool is_side_effect(std::string_view op) {
  constexpr std::array<std::string_view, 12> kOps = {"NoOp",
                                                     "Assign",
                                                     "AssignVariableOp",
                                                     "Assert",
                                                     "Print",
                                                     "PrintV2",
                                                     "MergeV2Checkpoints",
                                                     "Stage",
                                                     "IsVariableInitialized",
                                                     "VarIsInitializedOp",
                                                     "Const",
                                                     "Save"};
  return is_one_of(kOps, op) || op.starts_with("Save") || op.starts_with("Restore") || op.ends_with("Summary") ||
         op.starts_with("Queue") || is_graphdef_variable(op) || is_step_assignment(op) || !optimizer_of(op).empty();
}

class PhaseFinder {
 public:
  explicit PhaseFinder(const GraphDefIndex& index) : index_(index) { found_.of.assign(index.size(), kNone); }

  GraphDefPhases run() {
    find_roots();
    const std::vector<bool> needed = needed_by(roots_, false);
    mark_backward(needed);
    mark_forward();
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (needed[i] && found_.of[i] == kNone) found_.of[i] = kUpdate;
    }
    for (const std::int32_t root : roots_) found_.of[static_cast<std::size_t>(root)] = kUpdate;
    find_trained();
    return std::move(found_);
  }

 private:
  using enum GraphDefPhase;

  std::int32_t count() const { return static_cast<std::int32_t>(index_.size()); }
  GraphDefPhase& phase(std::int32_t node) { return found_.of[static_cast<std::size_t>(node)]; }

  void find_roots() {
    for (std::int32_t i = 0; i < count(); ++i) {
      const std::string_view optimizer = optimizer_of(index_.node(i).op);
      if (optimizer.empty() && !is_step_assignment(index_.node(i).op)) continue;
      roots_.push_back(i);
      const bool is_new =
          std::find(found_.optimizers.begin(), found_.optimizers.end(), optimizer) == found_.optimizers.end();
      if (!optimizer.empty() && is_new) found_.optimizers.emplace_back(optimizer);
    }
  }

  bool is_root(std::int32_t node) const { return std::binary_search(roots_.begin(), roots_.end(), node); }

  // What these nodes need, themselves included.
  std::vector<bool> needed_by(const std::vector<std::int32_t>& nodes, bool stop_at_inputs) const {
    std::vector<bool> seen(index_.size(), false);
    std::vector<std::int32_t> open = nodes;
    while (!open.empty()) {
      const std::int32_t node = open.back();
      open.pop_back();
      if (node < 0 || seen[static_cast<std::size_t>(node)]) continue;
      seen[static_cast<std::size_t>(node)] = true;
      if (stop_at_inputs && is_graphdef_input(index_.node(node).op)) continue;
      for (const GraphDefEdge& edge : index_.inputs(node)) open.push_back(edge.node);
    }
    return seen;
  }

  void mark_backward(const std::vector<bool>& needed) {
    std::vector<std::vector<std::int32_t>> users(index_.size());
    std::vector<std::int32_t> open;
    for (std::int32_t i = 0; i < count(); ++i) {
      if (!needed[static_cast<std::size_t>(i)] || is_root(i)) continue;
      for (const GraphDefEdge& edge : index_.inputs(i)) {
        if (edge.node >= 0) users[static_cast<std::size_t>(edge.node)].push_back(i);
      }
      const GraphDefNode& node = index_.node(i);
      if (is_gradient_op(node.op) || end_of_gradient_scope(node.name) > 0) open.push_back(i);
    }
    while (!open.empty()) {
      const std::int32_t node = open.back();
      open.pop_back();
      if (phase(node) == kBackward) continue;
      phase(node) = kBackward;
      found_.has_backward = true;
      for (const std::int32_t user : users[static_cast<std::size_t>(node)]) open.push_back(user);
    }
  }

  void mark_forward() {
    std::vector<std::int32_t> from;
    for (std::int32_t i = 0; i < count(); ++i) {
      if (phase(i) != kBackward) continue;
      from.push_back(i);
      from.push_back(named_by(index_.node(i).name));
    }
    if (!found_.has_backward) from = found_.results = results();
    const std::vector<bool> needed = needed_by(from, true);
    for (std::int32_t i = 0; i < count(); ++i) {
      if (needed[static_cast<std::size_t>(i)] && phase(i) == kNone) phase(i) = kForward;
    }
  }

  // The node NAME of "gradients/NAME_grad/…"; -1: none. NAME may have scopes of its own.
  std::int32_t named_by(std::string_view name) const {
    constexpr std::string_view kEnd = "_grad/";
    const std::size_t begin = end_of_gradient_scope(name);
    if (begin == 0) return -1;
    const std::size_t end = name.find(kEnd, begin);
    return end == std::string_view::npos ? -1 : index_.find(name.substr(begin, end - begin));
  }

  std::vector<std::int32_t> results() const {
    std::vector<std::int32_t> losses, ends;
    std::vector<bool> used(index_.size(), false);
    for (std::int32_t i = 0; i < count(); ++i) {
      if (is_graphdef_loss(index_.node(i).op)) losses.push_back(i);
      if (is_side_effect(index_.node(i).op)) continue;
      for (const GraphDefEdge& edge : index_.inputs(i)) {
        if (edge.node >= 0) used[static_cast<std::size_t>(edge.node)] = true;
      }
    }
    if (!losses.empty()) return losses;
    for (std::int32_t i = 0; i < count(); ++i) {
      const GraphDefNode& node = index_.node(i);
      if (!used[static_cast<std::size_t>(i)] && !is_side_effect(node.op) && !index_.inputs(i).empty())
        ends.push_back(i);
    }
    return ends;
  }

  void find_trained() {
    std::vector<bool> seen(index_.size(), false);
    for (const std::int32_t root : roots_) {
      const auto inputs = index_.inputs(root);
      if (inputs.size() < 2 || inputs[0].node < 0 || seen[static_cast<std::size_t>(inputs[0].node)]) continue;
      const bool by_gradient = std::any_of(inputs.begin() + 1, inputs.end(), [&](const GraphDefEdge& edge) {
        return edge.node >= 0 && phase(edge.node) == kBackward;
      });
      const bool is_optimizer = !optimizer_of(index_.node(root).op).empty();
      if (!is_graphdef_variable(index_.node(inputs[0].node).op) || !(is_optimizer || by_gradient)) continue;
      seen[static_cast<std::size_t>(inputs[0].node)] = true;
      found_.trained.push_back(inputs[0].node);
      add_elements(index_.node(inputs[0].node));
    }
  }

  void add_elements(const GraphDefNode& variable) {
    const GraphDefShape shape = variable_shape(variable);
    if (!shape) return;
    const std::int64_t elements = import::count_elements(*shape).value_or(0);
    found_.trained_elements = std::min(found_.trained_elements + elements, kMaxElements);
  }

  const GraphDefIndex& index_;
  GraphDefPhases found_;
  std::vector<std::int32_t> roots_;
};

}  // namespace

std::string_view to_string(GraphDefPhase phase) {
  constexpr std::array<std::string_view, 4> kNames = {"none", "forward", "backward", "update"};
  return kNames[static_cast<std::size_t>(phase)];
}

std::size_t GraphDefPhases::count(GraphDefPhase phase) const {
  return static_cast<std::size_t>(std::count(of.begin(), of.end(), phase));
}

GraphDefPhases graphdef_phases(const GraphDefIndex& index) {
  return PhaseFinder(index).run();
}

bool is_graphdef_input(std::string_view op) {
  constexpr std::array<std::string_view, 7> kOps = {"Placeholder", "PlaceholderV2", "IteratorGetNext",      "Unstage",
                                                    "_Recv",       "_HostRecv",     "RemoteIteratorGetNext"};
  return is_one_of(kOps, op) || op.starts_with("QueueDequeue");
}

bool is_graphdef_variable(std::string_view op) {
  constexpr std::array<std::string_view, 3> kOps = {"VariableV2", "Variable", "VarHandleOp"};
  return is_one_of(kOps, op);
}

bool is_graphdef_loss(std::string_view op) {
  return op == "SparseSoftmaxCrossEntropyWithLogits" || op == "SoftmaxCrossEntropyWithLogits";
}

GraphDefShape variable_shape(const GraphDefNode& node) {
  const GraphDefAttribute* shape = node.find("shape");
  if (shape != nullptr && !shape->shapes.empty()) return shape->shapes[0];
  return node.output_shapes.empty() ? GraphDefShape() : node.output_shapes[0];
}

}  // namespace orrery::workload
