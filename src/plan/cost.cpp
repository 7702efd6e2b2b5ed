#include "plan/cost.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "plan/spread.h"

namespace orrery::plan {

namespace {

double late_s(double end_s, const Job& job) {
  return std::max(0.0, end_s - job.due_s);
}

// W of "wait": how long the queue takes at best speed, at least the horizon.
double drain_s(const Instance& instance) {
  double sum = 0;
  for (const Job& job : instance.jobs) {
    double shortest = std::numeric_limits<double>::infinity();
    for (const auto& [gpu, times] : job.times_s)
      shortest = std::min(shortest, *std::min_element(times.begin(), times.end()));
    for (const auto& [vm, times] : job.machines_s)
      shortest = std::min(shortest, *std::min_element(times.begin(), times.end()));
    sum += shortest;
  }
  return std::max(instance.horizon_s, sum / instance.nodes);
}

double share_usd(const VmType& type, int gpus, double time) {
  return type.price_usd_h / 3600 * gpus / type.gpus * time;
}

// The cheapest a job can be if it starts `delay_s` from now.
double cheapest_later_usd(const Instance& instance, std::size_t index, double delay_s) {
  const Job& job = instance.jobs[index];
  double cheapest = std::numeric_limits<double>::infinity();
  for (const VmType& type : instance.vm_types) {
    for (int gpus = 1; gpus <= type.gpus; ++gpus) {
      auto time = time_s(job, type, gpus);
      if (!time) continue;
      *time += job.switch_s;
      cheapest = std::min(
          cheapest, share_usd(type, gpus, *time) + job.weight_usd_s * late_s(instance.now_s + delay_s + *time, job));
    }
  }
  for (const Spread& one : spreads_of(instance, index)) {
    const VmType& type = instance.vm_types[one.vm];
    cheapest = std::min(cheapest, one.machines * share_usd(type, type.gpus, one.time_s) +
                                      job.weight_usd_s * late_s(instance.now_s + delay_s + one.time_s, job));
  }
  return cheapest;
}

double longest_s(const Instance& instance, std::size_t index) {
  const Job& job = instance.jobs[index];
  double longest = 0;
  for (const VmType& type : instance.vm_types)
    for (int gpus = 1; gpus <= type.gpus; ++gpus) longest = std::max(longest, time_s(job, type, gpus).value_or(0));
  longest += job.switch_s;
  for (const Spread& one : spreads_of(instance, index)) longest = std::max(longest, one.time_s);
  return longest;
}

}  // namespace

std::string_view to_string(Objective objective) {
  switch (objective) {
    case Objective::kWait:
      return "wait";
    case Objective::kRho:
      return "rho";
    case Objective::kFirstEnd:
      return "first_end";
  }
  return "";
}

std::vector<double> postponed_usd(const Instance& instance, Objective objective) {
  const double horizon = instance.horizon_s;
  const double delay = objective == Objective::kWait ? instance.wait_fraction * drain_s(instance) : horizon;
  std::vector<double> costs;
  costs.reserve(instance.jobs.size());
  for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
    const Job& job = instance.jobs[i];
    const double worst_late = late_s(instance.now_s + horizon + longest_s(instance, i), job);
    if (objective == Objective::kFirstEnd) {
      costs.push_back(instance.rho * job.weight_usd_s * worst_late);
      continue;
    }
    const double penalty = objective == Objective::kRho ? instance.rho * worst_late : 0;
    costs.push_back(cheapest_later_usd(instance, i, delay) + job.weight_usd_s * (penalty + instance.kappa * horizon));
  }
  return costs;
}

double first_end_s(const Instance& instance, const Plan& plan) {
  double first = instance.horizon_s;
  for (const Node& node : plan.nodes)
    for (const RunningJob& one : node.jobs)
      first = std::min(first, *run_s(instance, instance.jobs[one.job], node.vm, one.gpus));
  return first;
}

CostSplit plan_cost(const Instance& instance, Objective objective, const Plan& plan) {
  CostSplit split;
  const double theta = objective == Objective::kFirstEnd ? first_end_s(instance, plan) : 0;
  const std::vector<int> machines = machines_by_job(instance, plan);
  std::vector<bool> runs(instance.jobs.size(), false);
  for (const Node& node : plan.nodes) {
    const VmType& type = instance.vm_types[node.vm];
    if (objective == Objective::kFirstEnd)
      split.rental_usd += share_usd(type, type.gpus, theta);
    else
      split.idle_usd += share_usd(type, type.gpus - node.used_gpus(), instance.horizon_s);
    for (const RunningJob& one : node.jobs) {
      const Job& job = instance.jobs[one.job];
      auto time = run_s(instance, job, node.vm, one.gpus);
      if (machines[one.job] > 1) time = *spread_s(job, type, machines[one.job]) + job.switch_s;
      ORRERY_CHECK(time.has_value());
      if (objective != Objective::kFirstEnd) split.rental_usd += share_usd(type, one.gpus, *time);
      if (!runs[one.job]) split.tardiness_usd += job.weight_usd_s * late_s(instance.now_s + *time, job);
      runs[one.job] = true;
    }
  }
  const std::vector<double> postponed = postponed_usd(instance, objective);
  for (std::size_t job = 0; job < runs.size(); ++job)
    if (!runs[job]) split.postponed_usd += postponed[job];
  return split;
}

std::size_t running_min(const Instance& instance, Objective objective) {
  if (objective != Objective::kFirstEnd) return 0;
  // Without a machine that may be opened nothing can be asked of a plan.
  const bool none = std::all_of(instance.vm_types.begin(), instance.vm_types.end(),
                                [](const VmType& type) { return type.nodes_max == 0; });
  if (none) return 0;
  return std::min(instance.jobs.size(), static_cast<std::size_t>(instance.nodes));
}

}  // namespace orrery::plan
