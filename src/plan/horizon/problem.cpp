#include "plan/horizon/problem.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace orrery::plan::horizon {

namespace {

constexpr double kRounding = 1e-9;  // of a period: times that are whole but for doubles

auto key_of(const Task& task) {
  const Mode first = task.modes.empty() ? Mode{} : task.modes.front();
  return std::tuple(task.id, task.submit_s, task.due_s, task.weight_usd_s, task.modes.size(), first.time_s);
}

}  // namespace

void put_in_order(std::vector<Task>& tasks) {
  for (Task& task : tasks)
    std::sort(task.modes.begin(), task.modes.end(), [](const Mode& a, const Mode& b) {
      return std::tuple(a.vm, a.machines, a.gpus, a.time_s) < std::tuple(b.vm, b.machines, b.gpus, b.time_s);
    });
  std::sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return key_of(a) < key_of(b); });
}

int length(const Problem& problem, const Mode& mode) {
  const double periods = std::ceil(mode.time_s / problem.period_s - kRounding);
  return static_cast<int>(std::clamp(periods, 1.0, 1.0 + problem.periods));
}

int first_period(const Problem& problem, const Task& task) {
  const double period = std::ceil(task.submit_s / problem.period_s - kRounding);
  return static_cast<int>(std::clamp(period, 0.0, static_cast<double>(problem.periods)));
}

double end_s(const Problem& problem, const Mode& mode, int start) {
  return start * problem.period_s + mode.time_s;
}

double tardiness_usd(const Problem& problem, const Task& task, const Mode& mode, int start) {
  const double late = end_s(problem, mode, start) - task.due_s;
  return late > 0 ? task.weight_usd_s * late : 0;
}

double busy_of(const Problem& problem, const Tariff& tariff, const Mode& mode, int start) {
  double sum = 0, left = mode.time_s;
  for (int t = start; t < start + length(problem, mode); ++t, left -= problem.period_s)
    sum += tariff.busy_gpu_s[problem.at(mode.vm, t)] * std::min(left, problem.period_s);
  return sum * mode.gpus * mode.machines;
}

namespace {

bool may_start(const Problem& problem, const Task& task, const Mode& mode, int start) {
  if (start + length(problem, mode) > problem.periods) return false;
  if (task.runs ? start != 0 : start < first_period(problem, task)) return false;
  return !task.must || end_s(problem, mode, start) <= task.due_s;
}

double configuration_usd(const Problem& problem, const Task& task, const Mode& mode, int start) {
  if (!may_start(problem, task, mode, start)) return kNever;
  const double missed = end_s(problem, mode, start) > task.due_s ? task.missed_usd : 0;
  return busy_of(problem, problem.tariff, mode, start) + tardiness_usd(problem, task, mode, start) + missed;
}

double machines_usd(const Problem& problem, const Mode& mode, int start) {
  double sum = 0;
  for (int t = start; t < start + length(problem, mode); ++t) sum += problem.tariff.machine[problem.at(mode.vm, t)];
  return sum * mode.machines;
}

}  // namespace

Configurations::Configurations(const Problem& problem) : periods_(static_cast<std::size_t>(problem.periods)) {
  for (const Task& task : problem.tasks) {
    first_.push_back(usd_.size());
    double dearest = 0;
    for (const Mode& mode : task.modes) {
      lengths_.push_back(horizon::length(problem, mode));
      for (int start = 0; start < problem.periods; ++start) {
        usd_.push_back(configuration_usd(problem, task, mode, start));
        if (usd_.back() < kNever) dearest = std::max(dearest, usd_.back() + machines_usd(problem, mode, start));
      }
    }
    left_out_usd_ += 2 * dearest;
  }
}

}  // namespace orrery::plan::horizon
