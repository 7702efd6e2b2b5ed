#include "plan/horizon/cost.h"

#include <algorithm>

#include "plan/horizon/ledger.h"

namespace orrery::plan::horizon {

namespace {

// Machines of one VM type in one period, by the tasks that are there: [g − 1] those on g GPUs, once for each machine.
std::vector<Node> nodes_with(std::size_t vm, int gpus, std::vector<std::vector<std::size_t>> waiting) {
  std::vector<int> parts;
  for (const auto& tasks : waiting) parts.push_back(static_cast<int>(tasks.size()));
  std::vector<Node> nodes;
  for (const std::vector<int>& machine : packed(parts, gpus)) {
    nodes.push_back({vm});
    for (const int part : machine) {
      auto& tasks = waiting[static_cast<std::size_t>(part) - 1];
      nodes.back().jobs.push_back({tasks.back(), part});
      tasks.pop_back();
    }
  }
  return nodes;
}

}  // namespace

std::vector<std::vector<Node>> nodes_of(const Problem& problem, const std::vector<std::optional<Start>>& starts) {
  std::vector<std::vector<Node>> nodes(static_cast<std::size_t>(problem.periods));
  for (std::size_t vm = 0; vm < problem.vm_types.size(); ++vm) {
    const int gpus = problem.vm_types[vm].gpus;
    for (int t = 0; t < problem.periods; ++t) {
      std::vector<std::vector<std::size_t>> waiting(static_cast<std::size_t>(gpus));
      for (std::size_t i = starts.size(); i-- > 0;) {
        if (!starts[i]) continue;
        const Mode& mode = problem.tasks[i].modes[starts[i]->mode];
        if (mode.vm != vm || t < starts[i]->period || t >= starts[i]->period + length(problem, mode)) continue;
        auto& tasks = waiting[static_cast<std::size_t>(mode.gpus) - 1];
        tasks.insert(tasks.end(), static_cast<std::size_t>(mode.machines), i);
      }
      std::vector<Node> here = nodes_with(vm, gpus, std::move(waiting));
      auto& all = nodes[static_cast<std::size_t>(t)];
      all.insert(all.end(), here.begin(), here.end());
    }
  }
  return nodes;
}

CostSplit cost_of(const Problem& problem, const Schedule& schedule) {
  CostSplit split;
  for (int t = 0; t < problem.periods; ++t)
    for (const Node& node : schedule.nodes[static_cast<std::size_t>(t)])
      split.machines_usd += problem.tariff.machine[problem.at(node.vm, t)];
  double used = 0;
  for (std::size_t i = 0; i < schedule.starts.size(); ++i) {
    if (!schedule.starts[i]) continue;
    const Task& task = problem.tasks[i];
    const Mode& mode = task.modes[schedule.starts[i]->mode];
    const int start = schedule.starts[i]->period;
    split.busy_usd += busy_of(problem, problem.tariff, mode, start);
    split.tardiness_usd += tardiness_usd(problem, task, mode, start);
    if (end_s(problem, mode, start) > task.due_s) split.missed_usd += task.missed_usd;
    double left = mode.time_s;
    for (int t = start; t < start + length(problem, mode); ++t, left -= problem.period_s) {
      const double share = std::min(1.0, left / problem.period_s) * mode.gpus / problem.vm_types[mode.vm].gpus;
      used += problem.tariff.machine[problem.at(mode.vm, t)] * share * mode.machines;
    }
  }
  split.idle_usd = std::max(0.0, split.machines_usd - used);
  return split;
}

double used_of(const Problem& problem, const Tariff& tariff, const Schedule& schedule) {
  double sum = 0;
  for (int t = 0; t < problem.periods; ++t)
    for (const Node& node : schedule.nodes[static_cast<std::size_t>(t)]) sum += tariff.machine[problem.at(node.vm, t)];
  for (std::size_t i = 0; i < schedule.starts.size(); ++i)
    if (schedule.starts[i])
      sum += busy_of(problem, tariff, problem.tasks[i].modes[schedule.starts[i]->mode], schedule.starts[i]->period);
  return sum;
}

}  // namespace orrery::plan::horizon
