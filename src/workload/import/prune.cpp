#include "workload/import/prune.h"

#include "workload/traits.h"

namespace orrery::workload::import {

void drop_unused_views(Operators& operators) {
  const auto may_go = [](OperatorKind kind) {
    return traits(kind).op_class == OperatorClass::kView || kind == OperatorKind::kContiguous ||
           kind == OperatorKind::kIndex;
  };
  ByOperator<bool> used(operators.size(), false);
  for (const OperatorIndex at : operators.indices().reversed()) {
    used[at] = used[at] || !may_go(operators[at].kind);
    if (!used[at]) continue;
    for (const Value& input : operators[at].inputs) used[input.op] = true;
  }
  ByOperator<OperatorIndex> place(operators.size());
  Operators kept;
  for (const OperatorIndex at : operators.indices()) {
    if (!used[at]) continue;
    place[at] = OperatorIndex(kept.size());
    Operator& op = operators[at];
    for (Value& input : op.inputs) input.op = place[input.op];
    if (op.tied_to.valid()) op.tied_to = place[op.tied_to];
    kept.push_back(std::move(op));
  }
  operators = std::move(kept);
}

}  // namespace orrery::workload::import
