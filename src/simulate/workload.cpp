#include "simulate/workload.h"

#include <algorithm>

namespace orrery::simulate {

void normalise(Workload& workload) {
  for (std::vector<double>& speeds : workload.speeds) speeds.resize(workload.devices.size(), 0);
  std::stable_sort(workload.jobs.begin(), workload.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.facts.submit_ns < b.facts.submit_ns; });
  if (workload.jobs.empty()) return;
  const TimeNs first = workload.jobs.front().facts.submit_ns;
  for (TraceJob& job : workload.jobs) {
    job.facts.submit_ns -= first;
    if (job.facts.deadline_ns != kNever) job.facts.deadline_ns -= first;
  }
}

}  // namespace orrery::simulate
