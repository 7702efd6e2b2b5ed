#include "plan/horizon/bound.h"

#include <algorithm>
#include <cmath>

#include "plan/partitions.h"

namespace orrery::plan::horizon {

namespace {

using Prices = std::vector<std::vector<double>>;

struct Evaluation {
  double value = 0;
  std::vector<double> cheapest;
  Prices excess;  // parts wanted − parts cut
};

class Relaxation {
 public:
  Relaxation(const Problem& problem, const Configurations& configurations)
      : problem_(problem), configurations_(configurations) {}

  Prices first_prices() const {
    Prices prices = zeros();
    for (std::size_t at = 0; at < prices.size(); ++at)
      for (std::size_t size = 0; size < prices[at].size(); ++size)
        prices[at][size] =
            problem_.tariff.machine[at] * static_cast<double>(size + 1) / static_cast<double>(prices[at].size());
    return prices;
  }

  Evaluation at(const Prices& prices) const {
    Evaluation now{0, {}, zeros()};
    for (std::size_t task = 0; task < problem_.tasks.size(); ++task) take_task(task, prices, now);
    for (int t = 0; t < problem_.periods; ++t) take_machines(t, prices, now);
    return now;
  }

 private:
  Prices zeros() const {
    Prices all;
    for (const VmType& type : problem_.vm_types)
      all.insert(all.end(), static_cast<std::size_t>(problem_.periods),
                 std::vector<double>(static_cast<std::size_t>(type.gpus), 0));
    return all;
  }

  void take_task(std::size_t task, const Prices& prices, Evaluation& now) const {
    const Task& one = problem_.tasks[task];
    double least = configurations_.left_out_usd();
    Start best;
    bool placed = false;
    const int first = one.runs ? 0 : first_period(problem_, one);
    for (std::size_t m = 0; m < one.modes.size(); ++m) {
      const Mode& mode = one.modes[m];
      const auto size = static_cast<std::size_t>(mode.gpus) - 1;
      const int stays = configurations_.length(task, m);
      const int last = one.runs ? std::min(0, problem_.periods - stays) : problem_.periods - stays;
      if (first > last) continue;
      double sum = 0;
      for (int t = first; t < first + stays - 1; ++t) sum += prices[problem_.at(mode.vm, t)][size];
      for (int start = first; start <= last; ++start) {
        sum += prices[problem_.at(mode.vm, start + stays - 1)][size];
        const double usd = configurations_.usd(task, m, start) + mode.machines * sum;
        sum -= prices[problem_.at(mode.vm, start)][size];
        if (usd >= least) continue;
        least = usd;
        best = {m, start};
        placed = true;
      }
    }
    now.value += least;
    now.cheapest.push_back(least);
    if (!placed) return;
    const Mode& mode = one.modes[best.mode];
    for (int t = best.period; t < best.period + configurations_.length(task, best.mode); ++t)
      now.excess[problem_.at(mode.vm, t)][static_cast<std::size_t>(mode.gpus) - 1] += mode.machines;
  }

  void take_machines(int period, const Prices& prices, Evaluation& now) const {
    std::vector<std::pair<double, std::size_t>> gains;
    std::vector<BestCut> cuts;
    for (std::size_t vm = 0; vm < problem_.vm_types.size(); ++vm) {
      cuts.push_back(best_cut(prices[problem_.at(vm, period)]));
      const double loss = problem_.tariff.machine[problem_.at(vm, period)] - cuts.back().worth;
      if (loss < 0) gains.emplace_back(loss, vm);
    }
    std::sort(gains.begin(), gains.end());
    int left = problem_.nodes;
    for (const auto& [loss, vm] : gains) {
      const int count = std::min(left, problem_.vm_types[vm].nodes_max);
      left -= count;
      now.value += loss * count;
      auto& excess = now.excess[problem_.at(vm, period)];
      for (std::size_t size = 0; size < excess.size(); ++size) excess[size] -= cuts[vm].parts[size] * count;
    }
  }

  const Problem& problem_;
  const Configurations& configurations_;
};

// Bends the direction towards the excess, not below prices of 0; its squared length.
double turn(Prices& direction, const Prices& excess, const Prices& prices, double memory) {
  if (direction.empty()) direction = excess;
  double norm = 0;
  for (std::size_t at = 0; at < excess.size(); ++at)
    for (std::size_t size = 0; size < excess[at].size(); ++size) {
      double& d = direction[at][size];
      d = memory * d + (1 - memory) * excess[at][size];
      if (prices[at][size] <= 0 && d < 0) d = 0;
      norm += d * d;
    }
  return norm;
}

}  // namespace

Bound lower_bound(const Problem& problem, const Configurations& configurations, double target_usd, int rounds) {
  constexpr double kMemory = 0.6;  // of the direction of earlier rounds
  constexpr int kPatience = 20;    // rounds without a better bound before less is hoped for
  constexpr double kHope = 0.05;   // at most, of the first bound
  const Relaxation relaxation(problem, configurations);
  Prices prices = relaxation.first_prices();
  Prices direction;
  Bound best{-kNever, {}, {}};
  double hope = 0;  // how much better than the best bound we expect to get
  int since = 0;
  for (int round = 0; round < rounds; ++round) {
    const Evaluation now = relaxation.at(prices);
    if (round == 0) hope = std::min(std::max(0.0, target_usd - now.value), kHope * std::fabs(now.value) + 1e-6);
    if (now.value > best.usd) {
      if (now.value > best.usd + 1e-6 * std::fabs(best.usd)) since = 0;
      best = {now.value, prices, now.cheapest};
    }
    if (++since > kPatience) {
      hope /= 2;
      since = 0;
      prices = best.prices;
      direction.clear();
      continue;
    }
    if (hope <= 1e-9 * std::fabs(best.usd)) break;
    const double norm = turn(direction, now.excess, prices, kMemory);
    if (norm <= 0) break;
    const double step = (best.usd + hope - now.value) / norm;
    for (std::size_t at = 0; at < prices.size(); ++at)
      for (std::size_t size = 0; size < prices[at].size(); ++size)
        prices[at][size] = std::max(0.0, prices[at][size] + step * direction[at][size]);
  }
  return best;
}

double priced_usd(const Problem& problem, const Configurations& configurations, const Bound& bound, std::size_t task,
                  const Start& start) {
  const Mode& mode = problem.tasks[task].modes[start.mode];
  double usd = configurations.usd(task, start.mode, start.period);
  if (usd == kNever) return kNever;
  for (int t = start.period; t < start.period + configurations.length(task, start.mode); ++t)
    usd += mode.machines * bound.prices[problem.at(mode.vm, t)][static_cast<std::size_t>(mode.gpus) - 1];
  return usd;
}

}  // namespace orrery::plan::horizon
