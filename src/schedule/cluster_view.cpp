#include "schedule/cluster_view.h"

#include <algorithm>

namespace orrery::schedule {

TimeNs ClusterView::executed_ns(JobIndex job) const {
  const JobProgress& p = progress(job);
  return p.state == JobState::kRunning ? p.executed_ns + (now_ - p.since_ns) : p.executed_ns;
}

TimeNs ClusterView::done_ns(JobIndex job) const {
  const JobProgress& p = progress(job);
  if (p.state != JobState::kRunning) return p.done_ns;
  const TimeNs worked = std::max<TimeNs>(0, now_ - std::max(p.since_ns, p.resumes_ns));
  // The rate of most jobs is exactly 1; then no rounding is involved.
  return p.done_ns + (p.rate == 1 ? worked : static_cast<TimeNs>(static_cast<double>(worked) * p.rate));
}

}  // namespace orrery::schedule
