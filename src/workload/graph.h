#pragma once
// TrainingGraph: the forward operators of one training step in execution order, ending in a loss. Backward and update
// follow from it (execution_order()). Every graph is valid: inputs come before their users, every shape fits.
//
// A graph is a value: it can be copied and never changes after it is made.

#include <string>
#include <vector>

#include "workload/operator.h"

namespace orrery::workload {

enum class Phase { kForward, kBackward, kUpdate };
std::string_view to_string(Phase phase);

// One step of the iteration: an operator in a phase. In kUpdate it is the one that owns the parameters.
struct PhaseStep {
  OperatorIndex op;
  Phase phase = Phase::kForward;
};

class TrainingGraph {
 public:
  // Checks names, references and order, and infers every shape. Errors name the operator.
  static Result<TrainingGraph> make(std::string name, Operators operators);

  const std::string& name() const { return name_; }
  const Operators& operators() const { return operators_; }
  const Operator& operator[](OperatorIndex at) const { return operators_[at]; }
  const TensorType& type(Value value) const { return output_type(operators_, value); }
  std::vector<TensorType> input_types(const Operator& op) const;

  // Samples in one pass: dimension 0 of the inputs.
  std::int64_t batch() const { return batch_; }
  // The same model on another batch size.
  Result<TrainingGraph> with_batch(std::int64_t batch) const;

  std::int64_t parameter_count() const { return parameter_count_; }
  // Multiply-accumulates of one forward pass (convolutions, linear layers, matrix products, recurrences).
  double macs() const;

  // Whether backward reaches this operator: it or something before it has parameters that are trained.
  bool needs_gradient(OperatorIndex at) const { return needs_gradient_[at]; }

  // Whether this operator's output has one part per sample; false for an output of parameters alone.
  bool is_per_sample(OperatorIndex at) const { return is_per_sample_[at]; }

  // Whether the operator has a weight, of its own or another's, that is trained.
  bool trains_weight(OperatorIndex at) const;

  // How many operators send a gradient back to this one; more than one are added up.
  int gradient_uses(OperatorIndex at) const { return gradient_uses_[at]; }

  // Forward in order, backward in reverse, then the update of every operator with parameters that are trained.
  std::vector<PhaseStep> execution_order() const;

 private:
  std::string name_;
  Operators operators_;
  ByOperator<bool> needs_gradient_;
  ByOperator<bool> is_per_sample_;
  ByOperator<int> gradient_uses_;
  std::int64_t batch_ = 1;
  std::int64_t parameter_count_ = 0;
};

// Parameters an operator owns, in elements; those of them that are trained.
std::int64_t parameter_elements(const Operator& op);
std::int64_t trained_elements(const Operator& op);

}  // namespace orrery::workload
