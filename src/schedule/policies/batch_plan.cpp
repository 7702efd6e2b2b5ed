#include "schedule/policies/batch_plan.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/check.h"

namespace orrery::schedule {

Status validate(const BatchProblem& problem) {
  if (problem.machines.empty() || problem.jobs.empty()) return Error::invalid("no machines or no jobs");
  for (const int count : problem.machines) {
    if (count < 1) return Error::invalid("every type needs at least one machine");
  }
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) {
    const std::vector<double>& runtimes = problem.jobs[j].runtime_s;
    if (runtimes.size() != problem.machines.size()) {
      return Error::invalid(
          fmt::format("job {}: {} runtimes for {} types", j, runtimes.size(), problem.machines.size()));
    }
    bool somewhere = false;
    for (const double runtime : runtimes) {
      if (!(runtime > 0)) return Error::invalid(fmt::format("job {}: runtime {} is not above 0", j, runtime));
      somewhere = somewhere || std::isfinite(runtime);
    }
    if (!somewhere) return Error::invalid(fmt::format("job {}: runs on none of the types", j));
  }
  return {};
}

BatchPlan plan_of(const BatchProblem& problem, std::span<const BatchQueue> queues) {
  BatchPlan plan;
  plan.places.resize(problem.jobs.size());
  std::size_t placed = 0;
  for (const BatchQueue& queue : queues) {
    double at = 0;
    for (std::size_t i = 0; i < queue.jobs.size(); ++i) {
      const auto j = static_cast<std::size_t>(queue.jobs[i]);
      const BatchJob& job = problem.jobs[j];
      const double end = at + job.runtime_s[static_cast<std::size_t>(queue.type)];
      plan.places[j] = {queue.type, queue.machine, static_cast<int>(i), at, end};
      plan.total_s += end;
      const double overrun = std::max(0.0, end - job.deadline_s);
      plan.overrun_s += overrun;
      if (overrun > 0) ++plan.late;
      at = end;
      ++placed;
    }
  }
  ORRERY_CHECK(placed == problem.jobs.size());
  return plan;
}

}  // namespace orrery::schedule
