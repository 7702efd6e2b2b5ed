#include "plan/reduced.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace orrery::plan {

Plan Reduced::whole(const Plan& plan) const {
  Plan all{plan.nodes};
  for (Node& node : all.nodes)
    for (RunningJob& one : node.jobs) one.job = jobs[one.job];
  all.nodes.insert(all.nodes.end(), taken.begin(), taken.end());
  return all;
}

Reduced reduced(const Instance& instance, std::span<const Spread> given) {
  Reduced left{instance, {}, {}};
  left.instance.jobs.clear();
  for (const Spread& one : given) {
    VmType& type = left.instance.vm_types[one.vm];
    left.instance.nodes -= one.machines;
    type.nodes_max -= one.machines;
    left.instance.budget_usd -= one.machines * type.price_usd_h / 3600 * one.time_s;
    for (Quota& quota : left.instance.quotas)
      if (std::find(quota.vms.begin(), quota.vms.end(), one.vm) != quota.vms.end())
        quota.gpus_max -= one.machines * type.gpus;
    left.taken.insert(left.taken.end(), static_cast<std::size_t>(one.machines), {one.vm, {{one.job, type.gpus}}});
  }
  for (std::size_t job = 0; job < instance.jobs.size(); ++job) {
    const bool has_it = std::any_of(given.begin(), given.end(), [job](const Spread& one) { return one.job == job; });
    if (has_it || instance.jobs[job].times_s.empty()) continue;
    left.instance.jobs.push_back(instance.jobs[job]);
    left.instance.jobs.back().machines_s.clear();
    left.jobs.push_back(job);
  }
  return left;
}

std::vector<Spread> promising_spreads(const LinearCosts& costs) {
  // By job: what it saves, its nodes paid.
  std::map<std::size_t, std::pair<double, Spread>> best;
  for (const SpreadCost& one : costs.spreads) {
    const double saved =
        costs.postponed_usd[one.spread.job] - one.usd - one.spread.machines * costs.node_usd[one.spread.vm];
    const auto found = best.find(one.spread.job);
    if (saved > 0 && (found == best.end() || saved > found->second.first)) best[one.spread.job] = {saved, one.spread};
  }
  std::vector<std::pair<double, Spread>> order;
  for (const auto& [job, one] : best) order.push_back(one);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  NodeLimits limits = costs.limits();
  std::vector<Spread> chosen;
  for (const auto& [saved, spread] : order) {
    int opened = 0;
    for (; opened < spread.machines && limits.may_open(spread.vm); ++opened) limits.open(spread.vm);
    if (opened == spread.machines) {
      chosen.push_back(spread);
      continue;
    }
    for (; opened > 0; --opened) limits.close(spread.vm);
  }
  return chosen;
}

}  // namespace orrery::plan
