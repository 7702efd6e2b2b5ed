#pragma once
// Cutting a graph into pipeline stages.

#include "base/units.h"
#include "predict/analytic/memory.h"

namespace orrery::predict {

// Cuts the operators into `count` runs of operators whose slowest is as fast as possible (exact, by bisection on the
// slowest stage). `in_flight` of each stage follows the one-forward-one-backward schedule: the first stage holds the
// most. Precondition: 1 <= count <= time.size().
std::vector<Stage> cut_into_stages(const workload::ByOperator<Seconds>& time, int count, int microbatches);

}  // namespace orrery::predict
