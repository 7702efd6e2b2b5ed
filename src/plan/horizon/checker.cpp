#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "plan/horizon/cost.h"

namespace orrery::plan::horizon {

namespace {

constexpr long double kNanoPerUsd = 1e9L;
constexpr double kSlack = 1e-6;  // what doubles and solvers lose of a budget

std::int64_t nano(long double usd) {
  return std::llroundl(usd * kNanoPerUsd);
}

Error broken(std::string what) {
  return Error::infeasible("schedule: " + std::move(what));
}

Status check_node(const Problem& problem, const Node& node, int period) {
  const VmType& type = problem.vm_types[node.vm];
  if (node.jobs.empty()) return broken(fmt::format("period {}: a {} is rented for no task", period + 1, type.name));
  int used = 0;
  for (const RunningJob& one : node.jobs) used += one.gpus;
  if (used <= type.gpus) return {};
  return broken(fmt::format("period {}: {} of {} GPUs of a {} are taken", period + 1, used, type.gpus, type.name));
}

Status check_counts(const Problem& problem, const std::vector<Node>& nodes, int period) {
  if (nodes.size() > static_cast<std::size_t>(problem.nodes))
    return broken(fmt::format("period {}: {} machines, {} are allowed", period + 1, nodes.size(), problem.nodes));
  std::vector<int> count(problem.vm_types.size(), 0);
  for (const Node& node : nodes) ++count[node.vm];
  for (std::size_t vm = 0; vm < count.size(); ++vm)
    if (count[vm] > problem.vm_types[vm].nodes_max)
      return broken(fmt::format("period {}: {} of {}, {} are allowed", period + 1, count[vm], problem.vm_types[vm].name,
                                problem.vm_types[vm].nodes_max));
  for (const Quota& quota : problem.quotas) {
    int gpus = 0;
    for (const std::size_t vm : quota.vms) gpus += count[vm] * problem.vm_types[vm].gpus;
    if (gpus > quota.gpus_max)
      return broken(fmt::format("period {}: quota \"{}\": {} GPUs, {} are allowed", period + 1, quota.name, gpus,
                                quota.gpus_max));
  }
  return {};
}

// That a task is in exactly the periods of its configuration, with its GPUs on the right number of machines of its
// type.
Status check_task(const Problem& problem, const Schedule& schedule, std::size_t index) {
  const Task& task = problem.tasks[index];
  const auto& start = schedule.starts[index];
  const Mode* mode = start ? &task.modes[start->mode] : nullptr;
  const long double ends = start ? start->period * static_cast<long double>(problem.period_s) + mode->time_s : 0;
  if (start &&
      (task.runs ? start->period != 0 : start->period * problem.period_s < task.submit_s - problem.period_s * kSlack))
    return broken(fmt::format("{} starts in period {}, which is too early or too late", task.id, start->period + 1));
  if (start && task.must && ends > static_cast<long double>(task.due_s) + kSlack)
    return broken(fmt::format("{} ends {:g} s after it is due", task.id, static_cast<double>(ends) - task.due_s));
  if (start && ends > static_cast<long double>(problem.end_s()) * (1 + kSlack))
    return broken(
        fmt::format("{} ends {:g} s after the horizon", task.id, static_cast<double>(ends) - problem.end_s()));
  for (int t = 0; t < problem.periods; ++t) {
    const long double from = t * static_cast<long double>(problem.period_s);
    const bool there = start && t >= start->period && from < ends - kSlack * problem.period_s;
    int machines = 0;
    for (const Node& node : schedule.nodes[static_cast<std::size_t>(t)])
      for (const RunningJob& one : node.jobs) {
        if (one.job != index) continue;
        if (!there || node.vm != mode->vm || one.gpus != mode->gpus)
          return broken(fmt::format("period {}: {} is where it should not be", t + 1, task.id));
        ++machines;
      }
    // A task that is there for less time than doubles can represent may or may not be listed.
    if (machines != (there ? mode->machines : 0))
      return broken(fmt::format("period {}: {} is on {} machines", t + 1, task.id, machines));
  }
  return {};
}

// Machines and GPUs at work by a tariff, each term rounded by itself.
std::int64_t added_up(const Problem& problem, const Tariff& tariff, const Schedule& schedule) {
  std::int64_t sum = 0;
  for (int t = 0; t < problem.periods; ++t)
    for (const Node& node : schedule.nodes[static_cast<std::size_t>(t)])
      sum += nano(tariff.machine[problem.at(node.vm, t)]);
  for (std::size_t i = 0; i < schedule.starts.size(); ++i) {
    if (!schedule.starts[i]) continue;
    const Mode& mode = problem.tasks[i].modes[schedule.starts[i]->mode];
    const long double begin = schedule.starts[i]->period * static_cast<long double>(problem.period_s);
    const long double end = begin + mode.time_s;
    for (int t = 0; t < problem.periods; ++t) {
      const long double from = std::max(begin, t * static_cast<long double>(problem.period_s));
      const long double to = std::min(end, (t + 1) * static_cast<long double>(problem.period_s));
      if (to > from)
        sum += nano((to - from) * mode.gpus * mode.machines *
                    static_cast<long double>(tariff.busy_gpu_s[problem.at(mode.vm, t)]));
    }
  }
  return sum;
}

Status check_budgets(const Problem& problem, const Schedule& schedule) {
  for (const Budget& budget : problem.budgets) {
    const double used = static_cast<double>(added_up(problem, budget.tariff, schedule)) / 1e9;
    if (used > budget.most + kSlack * std::max(1.0, budget.most))
      return broken(fmt::format("{}: {:.2f} are used, {:.2f} are allowed: {:.2f} too much", budget.name, used,
                                budget.most, used - budget.most));
  }
  return {};
}

}  // namespace

Result<std::int64_t> check_schedule(const Problem& problem, const Schedule& schedule) {
  if (schedule.starts.size() != problem.tasks.size() ||
      schedule.nodes.size() != static_cast<std::size_t>(problem.periods))
    return broken("it is of another problem");
  for (int t = 0; t < problem.periods; ++t) {
    const auto& nodes = schedule.nodes[static_cast<std::size_t>(t)];
    ORRERY_TRY_VOID(check_counts(problem, nodes, t));
    for (const Node& node : nodes) ORRERY_TRY_VOID(check_node(problem, node, t));
  }
  std::int64_t sum = added_up(problem, problem.tariff, schedule);
  for (std::size_t i = 0; i < problem.tasks.size(); ++i) {
    ORRERY_TRY_VOID(check_task(problem, schedule, i));
    if (!schedule.starts[i]) continue;
    const Task& task = problem.tasks[i];
    const long double late = schedule.starts[i]->period * static_cast<long double>(problem.period_s) +
                             task.modes[schedule.starts[i]->mode].time_s - task.due_s;
    if (late > 0) sum += nano(late * task.weight_usd_s) + nano(task.missed_usd);
  }
  ORRERY_TRY_VOID(check_budgets(problem, schedule));
  return sum;
}

Status check_claim(const Problem& problem, const Schedule& schedule, double claimed_usd) {
  ORRERY_TRY(const std::int64_t checked, check_schedule(problem, schedule));
  const long double off = std::fabs(static_cast<long double>(checked) - claimed_usd * kNanoPerUsd);
  const auto terms = static_cast<long double>(problem.tasks.size() * 3 + 1) *
                     static_cast<long double>(problem.periods + problem.nodes);
  if (off <= terms / 2 + 1e-9L * std::fabs(static_cast<long double>(checked))) return {};
  return Error::internal(fmt::format("the schedule was said to cost {:.9f} USD, the checker finds {:.9f}", claimed_usd,
                                     static_cast<double>(checked) / 1e9));
}

}  // namespace orrery::plan::horizon
