#include "plan/linear_costs.h"

#include <algorithm>
#include <set>

#include "base/check.h"

namespace orrery::plan {

namespace {

LinearCosts empty_costs(const Instance& instance, Objective objective) {
  LinearCosts costs;
  costs.nodes_max = instance.nodes;
  for (std::size_t vm = 0; vm < instance.vm_types.size(); ++vm) {
    const VmType& type = instance.vm_types[vm];
    costs.first_slot.push_back(costs.slots.size());
    costs.vm_gpus.push_back(type.gpus);
    costs.vm_nodes_max.push_back(std::min(type.nodes_max, instance.nodes));
    for (int gpus = 1; gpus <= type.gpus; ++gpus) costs.slots.push_back({vm, gpus});
  }
  costs.postponed_usd = postponed_usd(instance, objective);
  costs.running_min = running_min(instance, objective);
  costs.job_usd.assign(instance.jobs.size() * costs.slots.size(), kNever);
  return costs;
}

double tardiness_usd(const Instance& instance, const Job& job, double time) {
  return job.weight_usd_s * std::max(0.0, instance.now_s + time - job.due_s);
}

}  // namespace

LinearCosts linear_costs(const Instance& instance, Objective objective) {
  ORRERY_CHECK(objective != Objective::kFirstEnd);
  LinearCosts costs = empty_costs(instance, objective);
  for (const VmType& type : instance.vm_types) costs.node_usd.push_back(type.price_usd_h / 3600 * instance.horizon_s);
  for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
    const Job& job = instance.jobs[i];
    for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) {
      const VmType& type = instance.vm_types[costs.slots[slot].vm];
      const auto time = time_s(job, type, costs.slots[slot].gpus);
      if (!time) continue;
      const double share = type.price_usd_h / 3600 * costs.slots[slot].gpus / type.gpus;
      costs.job_usd[i * costs.slots.size() + slot] =
          share * (*time - instance.horizon_s) + tardiness_usd(instance, job, *time);
    }
  }
  return costs;
}

LinearCosts first_end_costs(const Instance& instance, double theta_s) {
  LinearCosts costs = empty_costs(instance, Objective::kFirstEnd);
  for (const VmType& type : instance.vm_types) costs.node_usd.push_back(type.price_usd_h / 3600 * theta_s);
  for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
    for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) {
      const VmType& type = instance.vm_types[costs.slots[slot].vm];
      const auto time = time_s(instance.jobs[i], type, costs.slots[slot].gpus);
      if (!time || *time < theta_s) continue;
      const std::size_t entry = i * costs.slots.size() + slot;
      costs.job_usd[entry] = tardiness_usd(instance, instance.jobs[i], *time);
      if (*time == theta_s && theta_s < instance.horizon_s) costs.one_of.push_back(entry);
    }
  }
  return costs;
}

std::vector<double> first_end_times(const Instance& instance) {
  std::set<double> times = {instance.horizon_s};
  for (const Job& job : instance.jobs)
    for (const VmType& type : instance.vm_types)
      for (int gpus = 1; gpus <= type.gpus; ++gpus) {
        const auto time = time_s(job, type, gpus);
        if (time && *time < instance.horizon_s) times.insert(*time);
      }
  return {times.begin(), times.end()};
}

double total_usd(const LinearCosts& costs, const Plan& plan) {
  double sum = 0;
  std::vector<bool> runs(costs.jobs(), false);
  for (const Node& node : plan.nodes) {
    sum += costs.node_usd[node.vm];
    for (const RunningJob& one : node.jobs) {
      sum += costs.at(one.job, costs.slot_of(node.vm, one.gpus));
      runs[one.job] = true;
    }
  }
  for (std::size_t job = 0; job < runs.size(); ++job)
    if (!runs[job]) sum += costs.postponed_usd[job];
  return sum;
}

}  // namespace orrery::plan
