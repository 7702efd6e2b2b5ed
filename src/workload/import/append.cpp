#include "workload/import/append.h"

#include <fmt/format.h>

#include "workload/traits.h"

namespace orrery::workload::import {

Result<Value> OperatorAppender::append(Operators& operators, Operator op) {
  op.name = unique(op.name.empty() ? std::string(to_string(op.kind)) : op.name);
  input_types_.clear();
  for (const Value& input : op.inputs) input_types_.push_back(output_type(operators, input));
  ORRERY_TRY_VOID(infer(op, input_types_));
  const OperatorIndex at(operators.size());
  operators.push_back(std::move(op));
  return Value{at, 0};
}

std::string OperatorAppender::unique(const std::string& name) {
  if (used_names_[name]++ == 0) return name;
  while (true) {
    std::string numbered = fmt::format("{}_{}", name, used_names_[name]++);
    if (used_names_.try_emplace(numbered, 1).second) return numbered;
  }
}

}  // namespace orrery::workload::import
