#include "workload/import/append.h"

#include <fmt/format.h>

#include "workload/traits.h"

namespace orrery::workload::import {

Result<Value> OperatorAppender::append(std::vector<Operator>& operators, Operator op) {
  op.name = unique(op.name.empty() ? std::string(to_string(op.kind)) : op.name);
  input_types_.clear();
  for (const Value& input : op.inputs) {
    const Operator& producer = operators[static_cast<std::size_t>(input.node)];
    input_types_.push_back(producer.outputs[static_cast<std::size_t>(input.output)]);
  }
  ORRERY_TRY_VOID(infer(op, input_types_));
  operators.push_back(std::move(op));
  return Value{static_cast<std::int32_t>(operators.size() - 1), 0};
}

std::string OperatorAppender::unique(const std::string& name) {
  if (used_names_[name]++ == 0) return name;
  while (true) {
    std::string numbered = fmt::format("{}_{}", name, used_names_[name]++);
    if (used_names_.try_emplace(numbered, 1).second) return numbered;
  }
}

}  // namespace orrery::workload::import
