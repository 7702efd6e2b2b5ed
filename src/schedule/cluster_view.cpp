#include "schedule/cluster_view.h"

#include <algorithm>

namespace orrery::schedule {

std::vector<JobIndex> ClusterView::known_jobs() const {
  std::vector<JobIndex> jobs;
  facts_.for_each([&](JobIndex job) { jobs.push_back(job); });
  return jobs;
}

std::vector<JobIndex> ClusterView::group_of(JobIndex job) const {
  std::vector<JobIndex> group = {job};
  for (JobIndex next = progress(job).partner; next != kNoJob && next != job; next = progress(next).partner) {
    group.push_back(next);
  }
  return group;
}

TimeNs ClusterView::executed_ns(JobIndex job) const {
  const JobProgress& p = progress(job);
  return p.state == JobState::kRunning ? p.executed_ns + std::max<TimeNs>(0, now_ - p.since_ns) : p.executed_ns;
}

TimeNs ClusterView::done_ns(JobIndex job) const {
  const JobProgress& p = progress(job);
  if (p.state != JobState::kRunning) return p.done_ns;
  const TimeNs worked = std::max<TimeNs>(0, now_ - std::max(p.since_ns, p.resumes_ns));
  // The rate of most jobs is exactly 1; then no rounding is involved.
  return p.done_ns + (p.rate == 1 ? worked : static_cast<TimeNs>(static_cast<double>(worked) * p.rate));
}

double ClusterView::speed_on(JobIndex job, std::int32_t device) const {
  if (speeds_.empty()) return 1;
  const std::vector<double>& of_class = speeds_[static_cast<std::size_t>(facts(job).speed_class)];
  return static_cast<std::size_t>(device) < of_class.size() ? of_class[static_cast<std::size_t>(device)] : 0;
}

std::vector<std::int32_t> ClusterView::types_of(JobIndex job) const {
  std::vector<std::int32_t> types;
  for (std::int32_t type = 0; type < types_; ++type) {
    if (speed_on(job, type) > 0) types.push_back(type);
  }
  std::stable_sort(types.begin(), types.end(),
                   [&](std::int32_t a, std::int32_t b) { return speed_on(job, a) > speed_on(job, b); });
  return types;
}

}  // namespace orrery::schedule
