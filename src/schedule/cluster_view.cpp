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

double ClusterView::typed_speed_on(JobIndex job, std::int32_t device) const {
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
