#include "trace/execution_trace.h"

namespace orrery::trace {

Seconds ExecutionTrace::iteration() const {
  Seconds total;
  for (const TracedOperator& op : operators) total += op.execution + op.gap;
  return total;
}

Seconds ExecutionTrace::execution(workload::Phase phase) const {
  Seconds total;
  for (const TracedOperator& op : operators) {
    if (op.phase == phase) total += op.execution;
  }
  return total;
}

Seconds ExecutionTrace::gaps(workload::Phase phase) const {
  Seconds total;
  for (const TracedOperator& op : operators) {
    if (op.phase == phase) total += op.gap;
  }
  return total;
}

}  // namespace orrery::trace
