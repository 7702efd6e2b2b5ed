#include "plan/horizon/play.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "base/statistics.h"
#include "plan/horizon/bound.h"
#include "plan/horizon/ledger.h"
#include "plan/horizon/likely.h"
#include "plan/horizon/modes.h"
#include "plan/horizon/search.h"

namespace orrery::plan::horizon {

namespace {

constexpr double kScenarioBoundWork = 2e7;  // of one scenario: rounds · tasks · modes · periods
constexpr double kFewConfigurations = 2e5;
constexpr std::size_t kListed = static_cast<std::size_t>(-1);

struct Actual {
  Task task;
  std::vector<Mode> modes;  // of the task: those that are considered
  double z = 0;
  std::size_t forecast = kListed;
  double known_s = 0;
  std::optional<Mode> mode{};  // since it started
  int started = 0;             // period
  bool ended = false;

  double takes_s(const Mode& one) const { return time_at(one.likely_s, z); }
};

struct Scenario {
  std::vector<Actual> tasks;
  std::size_t left_out = 0;
};

// The modes that are considered: all of them if that is quick.
std::vector<Mode> lean_modes(const Problem& problem, const Task& task, bool all) {
  if (all) return task.modes;
  std::vector<bool> limited;
  for (std::size_t vm = 0; vm < problem.vm_types.size(); ++vm)
    limited.push_back(problem.vm_types[vm].nodes_max < problem.nodes ||
                      std::any_of(problem.quotas.begin(), problem.quotas.end(), [vm](const Quota& quota) {
                        return std::find(quota.vms.begin(), quota.vms.end(), vm) != quota.vms.end();
                      }));
  const Grid grid{problem.periods, problem.period_s};
  const std::vector<bool> useful = useful_modes(task, problem.tariff, grid, problem.vm_types, limited);
  std::vector<Mode> modes;
  for (std::size_t m = 0; m < useful.size(); ++m)
    if (useful[m]) modes.push_back(task.modes[m]);
  return modes;
}

// The number of configurations of the tasks; forecasts count with the tasks to be expected.
double configurations_of(const Problem& problem, const std::vector<Forecast>& forecasts) {
  double configurations = 0;
  for (const Task& task : problem.tasks) configurations += static_cast<double>(task.modes.size()) * problem.periods;
  for (const Forecast& one : forecasts)
    configurations +=
        one.per_h * (one.until_s - one.from_s) / 3600 * static_cast<double>(one.task.modes.size()) * problem.periods;
  return configurations;
}

Scenario draw(const Problem& problem, const std::vector<Forecast>& forecasts, const Random& random) {
  const bool all = configurations_of(problem, forecasts) <= kFewConfigurations;
  Scenario scenario;
  Random times = random.split("times");
  for (const Task& task : problem.tasks)
    scenario.tasks.push_back({task, lean_modes(problem, task, all), times.normal()});
  for (std::size_t f = 0; f < forecasts.size(); ++f) {
    Random arrivals = random.split("arrivals").split(f);
    const std::vector<Mode> modes = lean_modes(problem, forecasts[f].task, all);
    double at = forecasts[f].from_s;
    while ((at += arrivals.exponential(3600 / forecasts[f].per_h)) < forecasts[f].until_s) {
      if (scenario.tasks.size() >= problem.tasks.size() + kArrivalsMax) {
        ++scenario.left_out;
        continue;
      }
      Task task = forecasts[f].task;
      task.submit_s = at;
      task.due_s += at;
      scenario.tasks.push_back({std::move(task), modes, arrivals.normal(), f, at});
    }
  }
  return scenario;
}

// One scenario, period by period.
class Player {
 public:
  Player(const Problem& problem, Scenario& scenario, int rounds)
      : problem_(problem), tasks_(scenario.tasks), rounds_(rounds), wanted_(scenario.tasks.size()) {
    for (int t = 0; t < problem.periods; ++t) {
      machines_.emplace_back(problem.vm_types.size(), 0);
      step(t);
    }
  }

  double machines_usd = 0, tardiness_usd = 0;
  std::vector<double> budgets_used{};
  const std::vector<std::vector<int>>& machines() const { return machines_; }
  double end_of(const Actual& one) const { return one.started * problem_.period_s + one.takes_s(*one.mode); }

 private:
  void step(int t) {
    if (is_news(t)) schedule(t);
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].mode || !wanted_[i] || wanted_[i]->period != t) continue;
      tasks_[i].mode = tasks_[i].modes[wanted_[i]->mode];
      tasks_[i].started = t;
    }
    rent(t);
  }

  // A task has come, has ended, or should have.
  bool is_news(int t) {
    bool news = t == 0 || ended_;
    ended_ = false;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Actual& one = tasks_[i];
      const double now = t * problem_.period_s;
      if (!one.mode && one.known_s <= now && one.known_s > now - problem_.period_s) news = true;
      if (one.mode && !one.ended && t >= one.started + length(problem_, *one.mode)) news = true;
    }
    return news;
  }

  // What is known at the border, with periods counted from there.
  Problem seen_at(int t, std::vector<std::size_t>& open_jobs) const {
    Problem seen;
    seen.periods = problem_.periods - t;
    seen.period_s = problem_.period_s;
    seen.nodes = problem_.nodes;
    seen.vm_types = problem_.vm_types;
    seen.quotas = problem_.quotas;
    for (std::size_t vm = 0; vm < problem_.vm_types.size(); ++vm)
      for (int k = t; k < problem_.periods; ++k) {
        seen.tariff.machine.push_back(problem_.tariff.machine[problem_.at(vm, k)]);
        seen.tariff.busy_gpu_s.push_back(problem_.tariff.busy_gpu_s[problem_.at(vm, k)]);
      }
    const double now = t * problem_.period_s;
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      const Actual& one = tasks_[i];
      if (one.ended || one.known_s > now) continue;
      Task task = one.task;
      task.modes = one.modes;
      task.submit_s = std::max(0.0, task.submit_s - now);
      task.due_s -= now;
      if (one.mode) {
        task.runs = true;
        task.modes = {*one.mode};
        // A task that is late already is expected to take one period more.
        task.modes[0].time_s = std::max(1e-3, one.started * problem_.period_s + one.mode->time_s - now);
      }
      seen.tasks.push_back(std::move(task));
      open_jobs.push_back(i);
    }
    return seen;
  }

  void schedule(int t) {
    std::vector<std::size_t> open_jobs;
    const Problem seen = seen_at(t, open_jobs);
    const Found found =
        search(seen, Configurations(seen), {.rounds = rounds_, .seed = 1 + static_cast<std::uint64_t>(t)});
    for (std::size_t i = 0; i < open_jobs.size(); ++i) {
      wanted_[open_jobs[i]].reset();
      if (found.starts[i]) wanted_[open_jobs[i]] = Start{found.starts[i]->mode, found.starts[i]->period + t};
    }
  }

  void rent(int t) {
    std::vector<std::vector<int>> parts;
    for (const VmType& type : problem_.vm_types) parts.emplace_back(static_cast<std::size_t>(type.gpus), 0);
    const double from = t * problem_.period_s, to = from + problem_.period_s;
    for (Actual& one : tasks_) {
      if (!one.mode || one.ended) continue;
      parts[one.mode->vm][static_cast<std::size_t>(one.mode->gpus) - 1] += one.mode->machines;
      const double end = end_of(one);
      count(problem_.at(one.mode->vm, t), 0, (std::min(end, to) - from) * one.mode->gpus * one.mode->machines);
      if (end > to) continue;
      one.ended = true;
      ended_ = true;
      tardiness_usd += one.task.weight_usd_s * std::max(0.0, end - one.task.due_s);
    }
    for (std::size_t vm = 0; vm < parts.size(); ++vm) {
      const auto rented = static_cast<int>(packed(parts[vm], problem_.vm_types[vm].gpus).size());
      machines_.back()[vm] = rented;
      count(problem_.at(vm, t), rented, 0);
    }
  }

  void count(std::size_t at, int rented, double gpu_s) {
    budgets_used.resize(problem_.budgets.size(), 0);
    machines_usd += rented * problem_.tariff.machine[at] + gpu_s * problem_.tariff.busy_gpu_s[at];
    for (std::size_t b = 0; b < problem_.budgets.size(); ++b)
      budgets_used[b] +=
          rented * problem_.budgets[b].tariff.machine[at] + gpu_s * problem_.budgets[b].tariff.busy_gpu_s[at];
  }

  const Problem& problem_;
  std::vector<Actual>& tasks_;
  int rounds_;
  std::vector<std::optional<Start>> wanted_;
  std::vector<std::vector<int>> machines_;  // by period and VM type
  bool ended_ = false;
};

// The least cost of a planner that knows the scenario. Precondition: every task has ended in it.
double known_bound(const Problem& problem, const Scenario& scenario, double paid_usd, int rounds) {
  Problem known = problem;
  known.budgets.clear();
  known.tasks.clear();
  for (const Actual& one : scenario.tasks) {
    known.tasks.push_back(one.task);
    known.tasks.back().missed_usd = 0;
    for (Mode& mode : known.tasks.back().modes) mode.time_s = one.takes_s(mode);
  }
  double size = 1;
  for (const Task& task : known.tasks) size += static_cast<double>(task.modes.size()) * known.periods;
  rounds = std::min(rounds, static_cast<int>(std::max(10.0, kScenarioBoundWork / size)));
  return std::max(0.0, lower_bound(known, Configurations(known), paid_usd, rounds).usd);
}

Spread spread(std::vector<double> values) {
  Spread of;
  for (const double value : values) of.mean += value / static_cast<double>(values.size());
  std::sort(values.begin(), values.end());
  of.low = quantile(values, 0.1);
  of.high = quantile(values, 0.9);
  return of;
}

// Adds up scenarios.
class Tally {
 public:
  Tally(const Problem& problem, std::size_t forecasts) : problem_(problem), came_(forecasts, 0), kept_(forecasts, 0) {
    outlook_.met.assign(problem.tasks.size(), 0);
    outlook_.budgets_kept.assign(problem.budgets.size(), 0);
  }

  void add(const Scenario& scenario, const Player& player, double bound_usd) {
    total_.push_back(player.machines_usd + player.tardiness_usd);
    machines_usd_.push_back(player.machines_usd);
    tardiness_.push_back(player.tardiness_usd);
    bounds_ += bound_usd;
    counts_.push_back(player.machines());
    outlook_.left_out += scenario.left_out;
    for (std::size_t b = 0; b < problem_.budgets.size(); ++b)
      outlook_.budgets_kept[b] += player.budgets_used[b] <= problem_.budgets[b].most ? 1 : 0;
    for (std::size_t i = 0; i < scenario.tasks.size(); ++i) {
      const Actual& one = scenario.tasks[i];
      const bool met = one.ended && player.end_of(one) <= one.task.due_s;
      outlook_.unfinished += one.ended ? 0 : 1;
      if (one.forecast == kListed) {
        outlook_.met[i] += met ? 1 : 0;
        continue;
      }
      came_[one.forecast] += 1;
      kept_[one.forecast] += met ? 1 : 0;
    }
  }

  Outlook outlook() {
    const auto scenarios = static_cast<double>(total_.size());
    outlook_.total_usd = spread(total_);
    outlook_.machines_usd = spread(machines_usd_);
    outlook_.tardiness_usd = spread(tardiness_);
    outlook_.bound_usd = bounds_ / scenarios;
    for (double& met : outlook_.met) met /= scenarios;
    for (double& kept : outlook_.budgets_kept) kept /= scenarios;
    for (std::size_t f = 0; f < came_.size(); ++f) {
      outlook_.forecast_tasks.push_back(came_[f] / scenarios);
      outlook_.forecast_met.push_back(came_[f] > 0 ? kept_[f] / came_[f] : 1);
    }
    for (std::size_t t = 0; t < static_cast<std::size_t>(problem_.periods); ++t) {
      outlook_.machines.emplace_back();
      for (std::size_t vm = 0; vm < problem_.vm_types.size(); ++vm) {
        std::vector<double> values;
        for (const auto& counts : counts_) values.push_back(counts[t][vm]);
        outlook_.machines.back().push_back(spread(std::move(values)));
      }
    }
    return outlook_;
  }

 private:
  const Problem& problem_;
  Outlook outlook_;
  std::vector<double> total_, machines_usd_, tardiness_;
  double bounds_ = 0;
  std::vector<double> came_, kept_;                    // by forecast
  std::vector<std::vector<std::vector<int>>> counts_;  // by scenario, period, VM type
};

}  // namespace

Outlook play(const Problem& problem, const std::vector<Forecast>& forecasts, const PlayOptions& options) {
  Tally tally(problem, forecasts.size());
  const Random random(options.seed);
  for (int s = 0; s < options.scenarios; ++s) {
    Scenario scenario = draw(problem, forecasts, random.split(static_cast<std::uint64_t>(s)));
    const Player player(problem, scenario, options.rounds);
    const double paid = player.machines_usd + player.tardiness_usd;
    const bool all_ended =
        std::all_of(scenario.tasks.begin(), scenario.tasks.end(), [](const Actual& one) { return one.ended; });
    const bool bounded = options.bound_rounds > 0 && all_ended;
    tally.add(scenario, player, bounded ? known_bound(problem, scenario, paid, options.bound_rounds) : 0);
  }
  return tally.outlook();
}

}  // namespace orrery::plan::horizon
