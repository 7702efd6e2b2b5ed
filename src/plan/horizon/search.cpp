#include "plan/horizon/search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include "base/random.h"
#include "plan/horizon/ledger.h"

namespace orrery::plan::horizon {

namespace {

using Starts = std::vector<std::optional<Start>>;

// Starts with their ledger and cost.
class State {
 public:
  State(const Problem& problem, const Configurations& configurations)
      : configurations_(&configurations),
        ledger_(problem, configurations),
        starts_(problem.tasks.size()),
        left_out_(problem.tasks.size()) {}

  void insert(std::size_t task) {
    const Ledger::Offer offer = ledger_.cheapest(task);
    if (offer.usd < configurations_->left_out_usd()) put(task, offer.start);
  }
  void put(std::size_t task, const std::optional<Start>& start) {
    if (starts_[task]) {
      ledger_.remove(task, *starts_[task]);
      configurations_usd_ -= configurations_->usd(task, starts_[task]->mode, starts_[task]->period);
      ++left_out_;
    }
    starts_[task] = start;
    if (!start) return;
    ledger_.add(task, *start);
    configurations_usd_ += configurations_->usd(task, start->mode, start->period);
    --left_out_;
  }

  double usd() const {
    return configurations_usd_ + ledger_.machines_usd() +
           static_cast<double>(left_out_) * configurations_->left_out_usd();
  }
  const Starts& starts() const { return starts_; }
  std::size_t left_out() const { return left_out_; }

 private:
  const Configurations* configurations_;
  Ledger ledger_;
  Starts starts_;
  std::size_t left_out_;
  double configurations_usd_ = 0;
};

double shortest_s(const Task& task) {
  double shortest = kNever;
  for (const Mode& mode : task.modes) shortest = std::min(shortest, mode.time_s);
  return shortest;
}

// The key by which greedy sorts tasks; running ones always come first.
std::tuple<bool, double, std::size_t> rank(const Problem& problem, std::size_t index, int rule) {
  const Task& task = problem.tasks[index];
  const double latest = task.due_s - shortest_s(task);
  const std::array<double, 4> keys = {latest, -task.weight_usd_s / std::max(1e-9, shortest_s(task)), -shortest_s(task),
                                      task.submit_s};
  return {!task.runs, keys[static_cast<std::size_t>(rule)], index};
}

State greedy(const Problem& problem, const Configurations& configurations, int rule) {
  std::vector<std::size_t> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return rank(problem, a, rule) < rank(problem, b, rule); });
  State state(problem, configurations);
  for (const std::size_t task : order) state.insert(task);
  return state;
}

// Tasks to take out: by chance, or the nearest in time to one of them.
std::vector<std::size_t> drawn(const State& state, Random& random) {
  const std::size_t tasks = state.starts().size();
  const std::size_t count = 1 + random.below(std::min(tasks, std::max<std::size_t>(4, tasks / 6)));
  std::vector<std::size_t> out = {random.below(tasks)};
  const bool near = random.below(2) == 0 && state.starts()[out[0]];
  for (std::size_t tries = 0; out.size() < count && tries < 8 * count; ++tries) {
    const std::size_t one = random.below(tasks);
    if (std::find(out.begin(), out.end(), one) != out.end()) continue;
    const auto& start = state.starts()[one];
    if (near && start && std::abs(start->period - state.starts()[out[0]]->period) > 2) continue;
    out.push_back(one);
  }
  return out;
}

}  // namespace

Found search(const Problem& problem, const Configurations& configurations, const SearchOptions& options) {
  constexpr double kTolerance = 0.02;  // of the cost, at first
  if (problem.tasks.empty()) return {{}, 0, 0, 0};
  State state = greedy(problem, configurations, 0);
  for (int rule = 1; rule < 4; ++rule)
    if (State other = greedy(problem, configurations, rule); other.usd() < state.usd()) state = std::move(other);
  Found best{state.starts(), state.usd(), state.usd(), state.left_out()};
  Random random(options.seed);
  for (int round = 0; round < options.rounds; ++round) {
    const std::vector<std::size_t> out = drawn(state, random);
    const double before = state.usd();
    std::vector<std::optional<Start>> old;
    for (const std::size_t task : out) {
      old.push_back(state.starts()[task]);
      state.put(task, std::nullopt);
    }
    for (const std::size_t task : out) state.insert(task);
    const double left = 1 - static_cast<double>(round) / options.rounds;
    const double worse = kTolerance * left * left * random.uniform() * std::min(before, best.usd);
    if (state.usd() > before + worse) {
      for (std::size_t i = 0; i < out.size(); ++i) state.put(out[i], std::nullopt);
      for (std::size_t i = 0; i < out.size(); ++i) state.put(out[i], old[i]);
      continue;
    }
    if (state.usd() < best.usd * (1 - 1e-12)) best = {state.starts(), state.usd(), best.greedy_usd, state.left_out()};
  }
  return best;
}

Problem priced(const Problem& problem, double mu) {
  Problem dear = problem;
  for (const Budget& budget : problem.budgets) {
    for (std::size_t i = 0; i < dear.tariff.machine.size(); ++i) {
      dear.tariff.machine[i] += mu * budget.tariff.machine[i];
      dear.tariff.busy_gpu_s[i] += mu * budget.tariff.busy_gpu_s[i];
    }
  }
  return dear;
}

bool keeps_budgets(const Problem& problem, const Schedule& schedule) {
  return std::all_of(problem.budgets.begin(), problem.budgets.end(), [&](const Budget& budget) {
    return used_of(problem, budget.tariff, schedule) <= budget.most * (1 + 1e-12);
  });
}

}  // namespace orrery::plan::horizon
