#include "workload/import/prune.h"

#include "workload/traits.h"

namespace orrery::workload::import {

void drop_unused_views(std::vector<Operator>& operators) {
  const auto may_go = [](OperatorKind kind) {
    return traits(kind).op_class == OperatorClass::kView || kind == OperatorKind::kContiguous ||
           kind == OperatorKind::kIndex;
  };
  std::vector<bool> used(operators.size(), false);
  for (std::size_t i = operators.size(); i-- > 0;) {
    used[i] = used[i] || !may_go(operators[i].kind);
    if (!used[i]) continue;
    for (const Value& input : operators[i].inputs) used[static_cast<std::size_t>(input.node)] = true;
  }
  std::vector<std::int32_t> place(operators.size(), -1);
  std::vector<Operator> kept;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (!used[i]) continue;
    place[i] = static_cast<std::int32_t>(kept.size());
    Operator& op = operators[i];
    for (Value& input : op.inputs) input.node = place[static_cast<std::size_t>(input.node)];
    if (op.tied_to >= 0) op.tied_to = place[static_cast<std::size_t>(op.tied_to)];
    kept.push_back(std::move(op));
  }
  operators = std::move(kept);
}

}  // namespace orrery::workload::import
