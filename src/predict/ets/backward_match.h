#pragma once
// Which forward operator each backward row belongs to, and which forward operators have no backward row of their own.
// Their backward kernels still run, hidden between two rows. Profilers that join kernels to operators by sequence
// numbers lose most linear layers this way.
//
// Backward rows come in reverse order. Each is matched to the nearest earlier-unmatched forward operator of the same
// kind (and, for convolutions, the same parameters) at most kReach operators further on; skipped ones are hidden in the
// gap of the row before.

#include <vector>

#include "predict/ets/launch_trace.h"
#include "predict/ets/work.h"

namespace orrery::predict {

inline constexpr std::int32_t kUnmatched = -1;

struct BackwardMatch {
  std::vector<std::int32_t> forward;              // by row: the forward row, or kUnmatched
  std::vector<std::vector<std::int32_t>> hidden;  // by row: forward rows whose backward runs behind it
};

BackwardMatch match_backward(const LaunchTrace& trace);

}  // namespace orrery::predict
