#include "plan/checker.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace orrery::plan {

namespace {

constexpr long double kNanoPerUsd = 1e9L;

long double nano(long double usd) {
  return std::round(usd * kNanoPerUsd);
}

// Looks times up in the job itself, by the name of the GPU.
struct Place {
  const VmType* type;
  int gpus;  // of all machines together
  long double time;
};

// Work with periodic saves on a machine that can be taken back (docs/reference/planning.md), one segment after the
// other.
long double expected_s(const SpotRules& rules, long double work, int machines) {
  const long double rate = static_cast<long double>(rules.interruptions_per_h) * machines / 3600;
  const auto segment = [&](long double length) {
    return rate > 0 ? std::exp(rate * rules.restart.value()) * std::expm1(rate * length) / rate : length;
  };
  const long double every = rules.save_every.value();
  const long double parts = std::ceil(work / every);  // the last need not be saved
  return (parts - 1) * segment(every + rules.save.value()) + segment(work - (parts - 1) * every);
}

// How long a job takes there without what switching costs; nothing if it may not.
std::optional<long double> plain_time(const Job& job, const VmType& type, int gpus) {
  const auto found = job.times_s.find(type.gpu);
  if (found == job.times_s.end() || gpus < 1 || gpus > type.gpus) return std::nullopt;
  const auto index = static_cast<std::size_t>(gpus) - 1;
  if (index >= found->second.size() || !std::isfinite(found->second[index])) return std::nullopt;
  if (!job.memory_gib.empty() && job.memory_gib[std::min(index, job.memory_gib.size() - 1)] > type.memory_gib)
    return std::nullopt;
  const long double time = type.spot ? expected_s(*type.spot, found->second[index], 1) : found->second[index];
  return time <= kTimeMaxS ? std::optional(time) : std::nullopt;
}

// The same on several whole machines.
std::optional<long double> plain_time_of_several(const Job& job, const VmType& type, int machines) {
  for (const auto& [name, times] : job.machines_s) {
    if (name != type.name || machines < 2 || static_cast<std::size_t>(machines) > times.size() + 1) continue;
    const auto g = static_cast<std::size_t>(type.gpus) - 1;
    if (!job.memory_gib.empty() && job.memory_gib[std::min(g, job.memory_gib.size() - 1)] > type.memory_gib) continue;
    const double listed = times[static_cast<std::size_t>(machines) - 2];
    const long double time = type.spot ? expected_s(*type.spot, listed, machines) : listed;
    if (time <= kTimeMaxS) return time;
  }
  return std::nullopt;
}

std::vector<Place> choices_of(const Instance& instance, const Job& job) {
  std::vector<Place> choices;
  for (const VmType& type : instance.vm_types)
    for (int gpus = 1; gpus <= type.gpus; ++gpus)
      if (const auto time = plain_time(job, type, gpus)) choices.push_back({&type, gpus, *time + job.switch_s});
  if (!job.pinned_on.empty()) return choices;
  for (const VmType& type : instance.vm_types)
    for (int m = 2; m <= instance.nodes && m <= type.nodes_max && !job.machines_s.empty() && m <= 64; ++m)
      if (const auto time = plain_time_of_several(job, type, m))
        choices.push_back({&type, m * type.gpus, *time + job.switch_s});
  return choices;
}

int nodes_with(const Plan& plan, std::size_t job) {
  int nodes = 0;
  for (const Node& node : plan.nodes)
    for (const RunningJob& one : node.jobs) nodes += one.job == job ? 1 : 0;
  return nodes;
}

// With what the job loses unless it continues as it is.
long double time_in_plan(const Instance& instance, const Plan& plan, const Node& node, const RunningJob& one) {
  const Job& job = instance.jobs[one.job];
  if (const int machines = job.machines_s.empty() ? 1 : nodes_with(plan, one.job); machines > 1)
    return *plain_time_of_several(job, instance.vm_types[node.vm], machines) + job.switch_s;
  const bool goes_on = job.held && job.held->first == node.vm && job.held->second == one.gpus;
  return *plain_time(job, instance.vm_types[node.vm], one.gpus) + (goes_on ? 0.0L : job.switch_s);
}

long double usd_per_s(const VmType& type) {
  return static_cast<long double>(type.price_usd_h) / 3600;
}

long double tardiness(const Instance& instance, const Job& job, long double after_s) {
  const long double late = static_cast<long double>(instance.now_s) + after_s - job.due_s;
  return late > 0 ? late * job.weight_usd_s : 0;
}

long double mean_wait_s(const Instance& instance) {
  long double work = 0;
  for (const Job& job : instance.jobs) {
    long double least = -1;
    for (const auto* table : {&job.times_s, &job.machines_s})
      for (const auto& [what, times] : *table)
        for (const double time : times) least = least < 0 || time < least ? time : least;
    work += least;
  }
  const long double drain = work / instance.nodes;
  return instance.wait_fraction * (drain > instance.horizon_s ? drain : static_cast<long double>(instance.horizon_s));
}

long double postponed_nano(const Instance& instance, Objective objective, const Job& job, long double wait_s) {
  const long double horizon = instance.horizon_s;
  long double cheapest = -1, longest = 0;
  for (const Place& choice : choices_of(instance, job)) {
    longest = std::max(longest, choice.time);
    const long double start = objective == Objective::kWait ? wait_s : horizon;
    const long double cost = usd_per_s(*choice.type) * choice.gpus / choice.type->gpus * choice.time +
                             tardiness(instance, job, start + choice.time);
    if (cheapest < 0 || cost < cheapest) cheapest = cost;
  }
  const long double penalty = instance.rho * tardiness(instance, job, horizon + longest);
  const long double held = static_cast<long double>(job.weight_usd_s) * instance.kappa * horizon;
  if (objective == Objective::kFirstEnd) return nano(penalty);
  return nano(cheapest + held + (objective == Objective::kRho ? penalty : 0));
}

Error broken(std::string what) {
  return Error::infeasible(std::move(what));
}

Status check_nodes(const Instance& instance, const Plan& plan) {
  if (plan.nodes.size() > static_cast<std::size_t>(instance.nodes))
    return broken(fmt::format("{} nodes are open; at most {} may be", plan.nodes.size(), instance.nodes));
  std::map<std::size_t, int> open;
  for (const Node& node : plan.nodes) {
    if (node.vm >= instance.vm_types.size()) return broken(fmt::format("there is no VM type {}", node.vm));
    const VmType& type = instance.vm_types[node.vm];
    if (++open[node.vm] > type.nodes_max)
      return broken(fmt::format("more than {} nodes of type {} are open", type.nodes_max, type.name));
    int used = 0;
    for (const RunningJob& one : node.jobs) used += one.gpus;
    if (used > type.gpus)
      return broken(fmt::format("a node of type {} has {} GPUs; {} are given away", type.name, type.gpus, used));
  }
  return {};
}

// That a job on several machines has whole ones of one type, as many as it has a time for.
Status check_several(const Instance& instance, const Plan& plan, std::size_t index, int machines) {
  const Job& job = instance.jobs[index];
  const Node* first = nullptr;
  for (const Node& node : plan.nodes) {
    for (const RunningJob& one : node.jobs) {
      if (one.job != index) continue;
      if (first == nullptr) first = &node;
      const VmType& type = instance.vm_types[node.vm];
      if (node.vm != first->vm || one.gpus != type.gpus || node.jobs.size() != 1)
        return broken(fmt::format("job {} is on several machines, which must be whole and alike", job.id));
    }
  }
  const VmType& type = instance.vm_types[first->vm];
  if (job.is_pinned() || !plain_time_of_several(job, type, machines))
    return broken(fmt::format("job {} has no time on {} machines of type {}", job.id, machines, type.name));
  return {};
}

// Which jobs run, each on GPUs it has a time for.
Result<std::vector<bool>> check_jobs(const Instance& instance, const Plan& plan) {
  std::vector<bool> runs(instance.jobs.size(), false);
  for (const Node& node : plan.nodes) {
    for (const RunningJob& one : node.jobs) {
      if (one.job >= runs.size()) return broken(fmt::format("there is no job {}", one.job));
      const Job& job = instance.jobs[one.job];
      const VmType& type = instance.vm_types[node.vm];
      const int machines = job.machines_s.empty() ? 1 : nodes_with(plan, one.job);
      if (machines > 1) {
        ORRERY_TRY_VOID(check_several(instance, plan, one.job, machines));
        runs[one.job] = true;
        continue;
      }
      if (runs[one.job]) return broken(fmt::format("job {} runs twice", job.id));
      runs[one.job] = true;
      if (!plain_time(job, type, one.gpus))
        return broken(fmt::format("job {} has no time on {} GPUs of type {}{}", job.id, one.gpus, type.gpu,
                                  std::isfinite(type.memory_gib) ? ", or lacks memory there" : ""));
    }
  }
  return runs;
}

// Pinned jobs are where they were: those of a machine together, those of different ones apart.
Status check_stay(const Instance& instance, const Plan& plan) {
  std::map<std::string, std::size_t> node_of;
  std::size_t found = 0, wanted = 0;
  for (const Job& job : instance.jobs) wanted += job.pinned_on.empty() ? 0 : 1;
  for (std::size_t n = 0; n < plan.nodes.size(); ++n) {
    std::string name;
    for (const RunningJob& one : plan.nodes[n].jobs) {
      const Job& job = instance.jobs[one.job];
      if (job.pinned_on.empty()) continue;
      ++found;
      const bool same = job.held && job.held->first == plan.nodes[n].vm && job.held->second == one.gpus;
      const auto [entry, is_first] = node_of.try_emplace(job.pinned_on, n);
      if (!same || entry->second != n || (!name.empty() && name != job.pinned_on))
        return broken(fmt::format("job {} is pinned on {} and would have to move", job.id, job.pinned_on));
      name = job.pinned_on;
    }
  }
  if (found < wanted) return broken(fmt::format("{} pinned jobs do not run", wanted - found));
  return {};
}

Status check_quotas(const Instance& instance, const Plan& plan) {
  for (const Quota& quota : instance.quotas) {
    int gpus = 0;
    for (const Node& node : plan.nodes)
      for (const std::size_t vm : quota.vms) gpus += vm == node.vm ? instance.vm_types[vm].gpus : 0;
    if (gpus > quota.gpus_max)
      return broken(fmt::format("quota {}: {} GPUs are open, {} may be: {} too many", quota.name, gpus, quota.gpus_max,
                                gpus - quota.gpus_max));
  }
  return {};
}

Status check_budget(const Instance& instance, const Plan& plan) {
  long double rent = 0;
  for (const Node& node : plan.nodes) {
    const VmType& type = instance.vm_types[node.vm];
    int idle = type.gpus;
    for (const RunningJob& one : node.jobs) {
      rent += usd_per_s(type) * one.gpus / type.gpus * time_in_plan(instance, plan, node, one);
      idle -= one.gpus;
    }
    rent += usd_per_s(type) * idle / type.gpus * instance.horizon_s;
  }
  // What doubles and solvers lose.
  const long double allowed =
      instance.budget_usd + 1e-6L * std::max(1.0L, static_cast<long double>(instance.budget_usd));
  if (!(rent > allowed)) return {};
  return broken(fmt::format("budget: the plan costs {:.2f} USD of rent, {:.2f} are allowed: {:.2f} too much",
                            static_cast<double>(rent), instance.budget_usd,
                            static_cast<double>(rent - instance.budget_usd)));
}

}  // namespace

Result<long double> check_plan(const Instance& instance, Objective objective, const Plan& plan) {
  ORRERY_TRY_VOID(check_nodes(instance, plan));
  ORRERY_TRY(const std::vector<bool> runs, check_jobs(instance, plan));
  ORRERY_TRY_VOID(check_stay(instance, plan));
  ORRERY_TRY_VOID(check_quotas(instance, plan));
  ORRERY_TRY_VOID(check_budget(instance, plan));
  const bool first_end = objective == Objective::kFirstEnd;
  std::size_t running = 0;
  long double theta = instance.horizon_s;
  long double sum = 0;
  std::vector<bool> counted(runs.size(), false);  // tardiness, once for each job
  for (const Node& node : plan.nodes) {
    const VmType& type = instance.vm_types[node.vm];
    int idle = type.gpus;
    for (const RunningJob& one : node.jobs) {
      const Job& job = instance.jobs[one.job];
      const long double time = time_in_plan(instance, plan, node, one);
      ++running;
      idle -= one.gpus;
      theta = std::min(theta, time);
      if (!first_end) sum += nano(usd_per_s(type) * one.gpus / type.gpus * time);
      if (!counted[one.job]) sum += nano(tardiness(instance, job, time));
      counted[one.job] = true;
    }
    if (!first_end) sum += nano(usd_per_s(type) * idle / type.gpus * instance.horizon_s);
  }
  if (first_end) {
    long machines = 0;
    for (const VmType& type : instance.vm_types) machines += type.nodes_max;
    const std::size_t least = machines == 0 ? 0 : std::min(runs.size(), static_cast<std::size_t>(instance.nodes));
    if (running < least) return broken(fmt::format("{} jobs run; at least {} must", running, least));
    for (const Node& node : plan.nodes) sum += nano(usd_per_s(instance.vm_types[node.vm]) * theta);
  }
  const long double wait_s = mean_wait_s(instance);
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (!runs[i]) sum += postponed_nano(instance, objective, instance.jobs[i], wait_s);
  return sum;
}

Status check_claim(const Instance& instance, Objective objective, const Plan& plan, long double claimed_usd) {
  ORRERY_TRY(const long double checked, check_plan(instance, objective, plan));
  const long double off = std::fabs(checked - claimed_usd * kNanoPerUsd);
  // Half a nano-dollar for each term, and what doubles lose of large ones.
  const auto terms = static_cast<long double>(2 * instance.jobs.size() + plan.nodes.size() + 1);
  const long double allowed = terms / 2 + 1e-12L * std::fabs(checked);
  if (off <= allowed) return {};
  return Error::internal(fmt::format("the plan was said to cost {:.9f} USD, the checker finds {:.9f}",
                                     static_cast<double>(claimed_usd),
                                     static_cast<double>(checked) / static_cast<double>(kNanoPerUsd)));
}

}  // namespace orrery::plan
