#include "simulate/job_trace.h"

#include <algorithm>

namespace orrery::simulate {

void normalise(JobTrace& job_trace) {
  for (std::vector<double>& speeds : job_trace.speeds) speeds.resize(job_trace.devices.size(), 0);
  std::stable_sort(job_trace.jobs.begin(), job_trace.jobs.end(),
                   [](const TraceJob& a, const TraceJob& b) { return a.facts.submit_ns < b.facts.submit_ns; });
  if (job_trace.jobs.empty()) return;
  const TimeNs first = job_trace.jobs.front().facts.submit_ns;
  for (TraceJob& job : job_trace.jobs) {
    job.facts.submit_ns -= first;
    if (job.facts.deadline_ns != kNever) job.facts.deadline_ns -= first;
  }
}

}  // namespace orrery::simulate
