#pragma once
// Two iterations as one picture.

#include "trace/execution_trace.h"

namespace orrery::service {

// Each on a row of its own over the same time, operators coloured by kind; the kinds that take most time have colours
// of their own. A gap is a gap.
std::string plot_traces(const std::string& name_a, const trace::ExecutionTrace& a, const std::string& name_b,
                        const trace::ExecutionTrace& b);

}  // namespace orrery::service
