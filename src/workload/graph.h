#pragma once
// TrainingGraph: the forward operators of one training step in execution order, ending in a loss. Backward and update
// follow from it (execution_order()). Every graph is valid: inputs come before their users, every shape fits.
//
// A graph is a value: it can be copied and never changes after it is made.

#include <span>
#include <string>
#include <vector>

#include "workload/operator.h"

namespace orrery::workload {

enum class Phase { kForward, kBackward, kUpdate };
std::string_view to_string(Phase phase);

// One step of the iteration: an operator in a phase. In kUpdate the node is the one that owns the parameters.
struct PhaseStep {
  std::int32_t node = 0;
  Phase phase = Phase::kForward;
};

class TrainingGraph {
 public:
  // Checks names, references and order, and infers every shape. Errors name the operator.
  static Result<TrainingGraph> make(std::string name, std::vector<Operator> operators);

  const std::string& name() const { return name_; }
  std::span<const Operator> operators() const { return operators_; }
  const Operator& node(std::int32_t index) const { return operators_[static_cast<std::size_t>(index)]; }
  const TensorType& type(Value value) const { return node(value.node).outputs[static_cast<std::size_t>(value.output)]; }
  std::vector<TensorType> input_types(const Operator& op) const;

  // Samples in one pass: dimension 0 of the inputs.
  std::int64_t batch() const { return batch_; }
  // The same model on another batch size.
  Result<TrainingGraph> with_batch(std::int64_t batch) const;

  std::int64_t parameter_count() const { return parameter_count_; }
  // Multiply-accumulates of one forward pass (convolutions, linear layers, matrix products, recurrences).
  double macs() const;

  // Whether backward reaches this node: it or something before it has parameters that are trained.
  bool needs_gradient(std::int32_t node) const { return needs_gradient_[static_cast<std::size_t>(node)]; }

  // Whether this node's output has one part per sample; false for an output of parameters alone.
  bool is_per_sample(std::int32_t node) const { return is_per_sample_[static_cast<std::size_t>(node)]; }

  // Whether the node has a weight, of its own or another's, that is trained.
  bool trains_weight(std::int32_t node) const;

  // How many operators send a gradient back to this node; more than one are added up.
  int gradient_uses(std::int32_t node) const { return gradient_uses_[static_cast<std::size_t>(node)]; }

  // Forward in order, backward in reverse, then the update of every operator with parameters that are trained.
  std::vector<PhaseStep> execution_order() const;

 private:
  std::string name_;
  std::vector<Operator> operators_;
  std::vector<bool> needs_gradient_;
  std::vector<bool> is_per_sample_;
  std::vector<int> gradient_uses_;
  std::int64_t batch_ = 1;
  std::int64_t parameter_count_ = 0;
};

// Parameters an operator owns, in elements; those of them that are trained.
std::int64_t parameter_elements(const Operator& op);
std::int64_t trained_elements(const Operator& op);

}  // namespace orrery::workload
