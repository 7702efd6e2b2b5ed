#include "plan/spread.h"

#include <algorithm>
#include <cmath>

namespace orrery::plan {

std::optional<double> spread_s(const Job& job, const VmType& type, int machines) {
  const auto found = job.machines_s.find(type.name);
  if (found == job.machines_s.end() || machines < 2) return std::nullopt;
  if (static_cast<std::size_t>(machines) - 2 >= found->second.size()) return std::nullopt;
  if (memory_gib(job, type.gpus) > type.memory_gib) return std::nullopt;
  double time = found->second[static_cast<std::size_t>(machines) - 2];
  if (type.spot) time = spot_time(Seconds(time), machines, *type.spot).time.value();
  return time <= kTimeMaxS ? std::optional(time) : std::nullopt;
}

std::vector<Spread> spreads_of(const Instance& instance, std::size_t job) {
  std::vector<Spread> all;
  const Job& one = instance.jobs[job];
  if (one.machines_s.empty() || one.is_pinned()) return all;
  for (std::size_t vm = 0; vm < instance.vm_types.size(); ++vm) {
    const VmType& type = instance.vm_types[vm];
    const int most = std::min({instance.nodes, type.nodes_max, kSpreadMachinesMax});
    for (int machines = 2; machines <= most; ++machines)
      if (const auto time = spread_s(one, type, machines)) all.push_back({job, vm, machines, *time + one.switch_s});
  }
  return all;
}

std::vector<Spread> spreads_of(const Instance& instance) {
  std::vector<Spread> all;
  for (std::size_t job = 0; job < instance.jobs.size(); ++job)
    for (const Spread& one : spreads_of(instance, job)) all.push_back(one);
  return all;
}

std::vector<int> machines_by_job(const Instance& instance, const Plan& plan) {
  std::vector<int> machines(instance.jobs.size(), 0);
  for (const Node& node : plan.nodes)
    for (const RunningJob& one : node.jobs) ++machines[one.job];
  return machines;
}

}  // namespace orrery::plan
