#include "plan/linear_costs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"

namespace orrery::plan {

namespace {

LinearCosts empty_costs(const Instance& instance, Objective objective) {
  LinearCosts costs;
  costs.instance = &instance;
  costs.kept = kept_nodes(instance);
  costs.nodes_max = instance.nodes - static_cast<int>(costs.kept.size());
  for (std::size_t vm = 0; vm < instance.vm_types.size(); ++vm) {
    const VmType& type = instance.vm_types[vm];
    costs.first_slot.push_back(costs.slots.size());
    costs.vm_gpus.push_back(type.gpus);
    const auto kept = std::count_if(costs.kept.begin(), costs.kept.end(), [vm](const Node& n) { return n.vm == vm; });
    costs.vm_nodes_max.push_back(std::min(type.nodes_max - static_cast<int>(kept), costs.nodes_max));
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

// Pinned jobs have one slot only.
bool stays(const Job& job, const Slot& slot) {
  return !job.is_pinned() || job.held == std::pair(slot.vm, slot.gpus);
}

}  // namespace

NodeLimits LinearCosts::limits() const {
  NodeLimits limits(*instance);
  for (const Node& node : kept) limits.open(node.vm);
  return limits;
}

LinearCosts linear_costs(const Instance& instance, Objective objective) {
  ORRERY_CHECK(objective != Objective::kFirstEnd);
  LinearCosts costs = empty_costs(instance, objective);
  for (const VmType& type : instance.vm_types) costs.node_usd.push_back(type.price_usd_h / 3600 * instance.horizon_s);
  if (std::isfinite(instance.budget_usd)) costs.rent_usd.assign(costs.job_usd.size(), 0);
  for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
    const Job& job = instance.jobs[i];
    for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) {
      const VmType& type = instance.vm_types[costs.slots[slot].vm];
      const auto time = run_s(instance, job, costs.slots[slot].vm, costs.slots[slot].gpus);
      if (!time || !stays(job, costs.slots[slot])) continue;
      const double share = type.price_usd_h / 3600 * costs.slots[slot].gpus / type.gpus;
      const std::size_t entry = i * costs.slots.size() + slot;
      const double rent = share * (*time - instance.horizon_s);
      costs.job_usd[entry] = rent + tardiness_usd(instance, job, *time);
      if (costs.has_budget()) costs.rent_usd[entry] = rent;
      if (job.is_pinned()) costs.postponed_usd[i] = costs.job_usd[entry];
    }
  }
  for (const Spread& one : spreads_of(instance)) {
    const double rent = one.machines * instance.vm_types[one.vm].price_usd_h / 3600 * (one.time_s - instance.horizon_s);
    costs.spreads.push_back({one, rent + tardiness_usd(instance, instance.jobs[one.job], one.time_s), rent});
  }
  return costs;
}

LinearCosts first_end_costs(const Instance& instance, double theta_s) {
  return first_end_costs(instance, theta_s, theta_s);
}

LinearCosts first_end_costs(const Instance& instance, double theta_s, double last_s) {
  LinearCosts costs = empty_costs(instance, Objective::kFirstEnd);
  for (const VmType& type : instance.vm_types) costs.node_usd.push_back(type.price_usd_h / 3600 * theta_s);
  for (std::size_t i = 0; i < instance.jobs.size(); ++i) {
    for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) {
      const auto time = run_s(instance, instance.jobs[i], costs.slots[slot].vm, costs.slots[slot].gpus);
      if (!time || *time < theta_s) continue;
      const std::size_t entry = i * costs.slots.size() + slot;
      costs.job_usd[entry] = tardiness_usd(instance, instance.jobs[i], *time);
      if (*time <= last_s && last_s < instance.horizon_s) costs.one_of.push_back(entry);
    }
  }
  return costs;
}

std::vector<double> first_end_times(const Instance& instance) {
  std::set<double> times = {instance.horizon_s};
  for (const Job& job : instance.jobs)
    for (std::size_t vm = 0; vm < instance.vm_types.size(); ++vm)
      for (int gpus = 1; gpus <= instance.vm_types[vm].gpus; ++gpus) {
        const auto time = run_s(instance, job, vm, gpus);
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

double total_rent_usd(const LinearCosts& costs, const Plan& plan) {
  double sum = 0;
  for (const Node& node : plan.nodes) {
    sum += costs.node_usd[node.vm];
    for (const RunningJob& one : node.jobs) sum += costs.rent_at(one.job, costs.slot_of(node.vm, one.gpus));
  }
  return sum;
}

namespace {

// What postponing one job changes.
struct Relief {
  double rent_usd = 0;  // freed
  double cost_usd = 0;  // more

  // Rent that is freed at no cost comes first, then the cheapest for each dollar of it.
  double rank() const { return cost_usd <= 0 ? cost_usd - 1e18 : cost_usd / rent_usd; }
};

Relief relief_of(const LinearCosts& costs, const Node& node, const RunningJob& one) {
  const std::size_t slot = costs.slot_of(node.vm, one.gpus);
  const double closed = node.jobs.size() == 1 ? costs.node_usd[node.vm] : 0;
  return {costs.rent_at(one.job, slot) + closed, costs.postponed_usd[one.job] - costs.at(one.job, slot) - closed};
}

}  // namespace

Plan within_budget(const LinearCosts& costs, Plan plan) {
  while (costs.has_budget() && total_rent_usd(costs, plan) > costs.instance->budget_usd) {
    Node* from = nullptr;
    std::size_t job = 0;
    double least = kNever;
    bool frees = false;
    for (Node& node : plan.nodes) {
      for (const RunningJob& one : node.jobs) {
        if (costs.is_pinned(one.job)) continue;
        const Relief relief = relief_of(costs, node, one);
        const bool helps = relief.rent_usd > 0;
        // Jobs shorter than the horizon free nothing by themselves; the machine closes with the last of them.
        if (from != nullptr && (frees && !helps)) continue;
        const double rank = helps ? relief.rank() : relief.cost_usd;
        if (from != nullptr && frees == helps && rank >= least) continue;
        from = &node;
        job = one.job;
        least = rank;
        frees = helps;
      }
    }
    if (from == nullptr) break;
    std::erase_if(from->jobs, [job](const RunningJob& one) { return one.job == job; });
    std::erase_if(plan.nodes, [](const Node& node) { return node.jobs.empty(); });
  }
  return plan;
}

}  // namespace orrery::plan
