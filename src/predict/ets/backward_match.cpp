#include "predict/ets/backward_match.h"

#include <algorithm>

namespace orrery::predict {

namespace {

using workload::Phase;

constexpr std::int32_t kReach = 40;
constexpr std::size_t kConvolutionParameters = 17;

bool belongs(const LaunchedOperator& forward, const LaunchedOperator& backward) {
  if (forward.kind != backward.kind) return false;
  return forward.parameters.size() != kConvolutionParameters || forward.parameters == backward.parameters;
}

}  // namespace

BackwardMatch match_backward(const LaunchTrace& trace) {
  const std::size_t count = trace.operators.size();
  BackwardMatch match{std::vector<std::int32_t>(count, kUnmatched), std::vector<std::vector<std::int32_t>>(count)};
  std::int32_t next = -1;  // the last forward row not yet passed
  while (next + 1 < static_cast<std::int32_t>(count) && trace.operators[next + 1].phase == Phase::kForward) ++next;
  for (std::size_t row = static_cast<std::size_t>(next + 1); row < count; ++row) {
    if (trace.operators[row].phase != Phase::kBackward) break;
    const std::int32_t last = std::max(-1, next - kReach);
    std::int32_t found = next;
    while (found > last && !belongs(trace.operators[found], trace.operators[row])) --found;
    if (found == last) continue;
    match.forward[row] = found;
    for (std::int32_t passed = next; passed > found; --passed) match.hidden[row - 1].push_back(passed);
    next = found - 1;
  }
  return match;
}

}  // namespace orrery::predict
