#pragma once
// Appends operators to a graph that is being translated: gives each a name of its own and infers its shapes.

#include <string>
#include <unordered_map>
#include <vector>

#include "workload/operator.h"

namespace orrery::workload::import {

class OperatorAppender {
 public:
  // A name that is taken gets a number ("relu_1"); an empty one is that of the kind. Returns the first output.
  Result<Value> append(Operators& operators, Operator op);

 private:
  std::string unique(const std::string& name);

  std::unordered_map<std::string, int> used_names_;
  std::vector<TensorType> input_types_;  // of the operator that is made
};

}  // namespace orrery::workload::import
