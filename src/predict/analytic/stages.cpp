#include "predict/analytic/stages.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::predict {

using workload::OperatorIndex;

namespace {

// Ends of the stages when each is filled up to `limit`; more than `count` when that is too little. Leaves at least one
// operator for every stage still to come.
std::vector<OperatorIndex> fill(const workload::ByOperator<Seconds>& time, int count, double limit) {
  std::vector<OperatorIndex> ends;
  const OperatorIndex end(time.size());
  double used = 0;
  for (const OperatorIndex at : time.indices()) {
    const double next = time[at].value();
    const auto started = static_cast<std::int32_t>(ends.size());
    const bool begun = at > (ends.empty() ? OperatorIndex(0) : ends.back());
    const bool must_leave_room = end - at <= count - started - 1;
    if (begun && (used + next > limit || must_leave_room)) {
      ends.push_back(at);
      used = 0;
    }
    used += next;
  }
  ends.push_back(end);
  return ends;
}

}  // namespace

std::vector<Stage> cut_into_stages(const workload::ByOperator<Seconds>& time, int count, int microbatches) {
  ORRERY_CHECK(count >= 1 && static_cast<std::size_t>(count) <= time.size());
  double low = 0, high = 0;
  for (const Seconds t : time) {
    low = std::max(low, t.value());
    high += t.value();
  }
  for (int i = 0; i < 60 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (fill(time, count, middle).size() <= static_cast<std::size_t>(count) ? high : low) = middle;
  }
  const std::vector<OperatorIndex> ends = fill(time, count, high);
  std::vector<Stage> stages;
  OperatorIndex first(0);
  for (std::size_t s = 0; s < ends.size(); ++s) {
    stages.push_back({first, ends[s], std::min(microbatches, count - static_cast<int>(s))});
    first = ends[s];
  }
  if (count == 1) stages[0].in_flight = 1;  // accumulation runs one micro-batch after the other
  return stages;
}

}  // namespace orrery::predict
