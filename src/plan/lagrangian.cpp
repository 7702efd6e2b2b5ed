#include "plan/lagrangian.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace orrery::plan {

namespace {

// The best cut of `gpus` GPUs at the prices of a VM type's slots.
BestCut best_cut_of(const double* prices, int gpus) {
  return best_cut(std::span(prices, static_cast<std::size_t>(gpus)));
}

// L(λ) and its parts at one λ.
struct Evaluation {
  double value = 0;
  std::vector<double> cheapest;  // by job
  std::vector<double> excess;    // by slot: jobs that want it − parts that exist
  std::vector<std::pair<std::size_t, Partition>> cuts;
  std::vector<int> nodes;  // of each cut
};

// Machines that stay are paid for, and their free GPUs are cut at no cost.
void take_kept(const LinearCosts& costs, const std::vector<double>& prices, Evaluation& at) {
  for (const Node& node : costs.kept) {
    at.value += costs.node_usd[node.vm];
    const BestCut best = best_cut_of(&prices[costs.first_slot[node.vm]], costs.free_gpus(node));
    at.value -= best.worth;
    for (std::size_t i = 0; i < best.parts.size(); ++i) at.excess[costs.first_slot[node.vm] + i] -= best.parts[i];
  }
}

// The part of L(λ) about nodes. Each node is independent, so the type with the largest gain takes as many nodes as its
// limit allows, then the next, within the common limit: this is the exact minimum, which a bound needs.
void take_nodes(const LinearCosts& costs, const std::vector<double>& prices, Evaluation& at) {
  std::vector<std::pair<double, std::size_t>> gains;
  std::vector<BestCut> best;
  for (std::size_t vm = 0; vm < costs.node_usd.size(); ++vm) {
    best.push_back(best_cut_of(&prices[costs.first_slot[vm]], costs.vm_gpus[vm]));
    const double gain = best.back().worth - costs.node_usd[vm];
    if (gain > 0) gains.emplace_back(-gain, vm);
  }
  take_kept(costs, prices, at);
  std::sort(gains.begin(), gains.end());
  int left = costs.nodes_max;
  for (const auto& [loss, vm] : gains) {
    const int count = std::min(left, costs.vm_nodes_max[vm]);
    if (count == 0) continue;
    left -= count;
    at.value += loss * count;
    for (std::size_t i = 0; i < best[vm].parts.size(); ++i)
      at.excess[costs.first_slot[vm] + i] -= static_cast<double>(best[vm].parts[i]) * count;
    at.cuts.emplace_back(vm, best[vm].parts);
    at.nodes.push_back(count);
  }
}

// L(λ) and a subgradient. Every minimum is exact: an approximate one would be too large, and the value no bound. The
// excess of demand over supply by slot is a subgradient of the concave L at λ: raise the prices of slots that are
// wanted more than they exist, lower the others.
Evaluation evaluate(const LinearCosts& costs, const std::vector<double>& prices) {
  const std::size_t slots = costs.slots.size();
  Evaluation at;
  at.excess.assign(slots, 0);
  at.cheapest.resize(costs.jobs());
  auto spread = costs.spreads.begin();
  for (std::size_t job = 0; job < costs.jobs(); ++job) {
    const double* row = &costs.job_usd[job * slots];
    double least = costs.postponed_usd[job];
    std::size_t where = slots;
    for (std::size_t slot = 0; slot < slots; ++slot) {
      const double cost = row[slot] + prices[slot];
      if (cost >= least) continue;
      least = cost;
      where = slot;
    }
    int parts = 1;
    for (; spread != costs.spreads.end() && spread->spread.job == job; ++spread) {
      const std::size_t slot = costs.slot_of(spread->spread.vm, costs.vm_gpus[spread->spread.vm]);
      const double cost = spread->usd + spread->spread.machines * prices[slot];
      if (cost >= least) continue;
      least = cost;
      where = slot;
      parts = spread->spread.machines;
    }
    at.cheapest[job] = least;
    at.value += least;
    if (where < slots) at.excess[where] += parts;
  }
  take_nodes(costs, prices, at);
  return at;
}

// One price for every GPU: the best of a geometric series, then a ternary search between its neighbours, since L is
// concave. In a crowded cluster prices are of the size of what jobs pay for waiting, which steps from 0 take long to
// reach.
std::vector<double> first_prices(const LinearCosts& costs) {
  constexpr int kHalvings = 24, kCuts = 24;
  const double most = *std::max_element(costs.postponed_usd.begin(), costs.postponed_usd.end());
  std::vector<double> prices(costs.slots.size());
  const auto value_at = [&](double usd) {
    for (std::size_t slot = 0; slot < prices.size(); ++slot) prices[slot] = usd * costs.slots[slot].gpus;
    return evaluate(costs, prices).value;
  };
  double best = 0, bound = value_at(0), usd = most;
  for (int i = 0; i < kHalvings; ++i, usd /= 2) {
    const double value = value_at(usd);
    if (value <= bound) continue;
    bound = value;
    best = usd;
  }
  double low = best / 2, high = std::min(most, 2 * best);
  for (int i = 0; i < kCuts && best > 0; ++i) {
    const double left = low + (high - low) / 3, right = high - (high - low) / 3;
    if (value_at(left) < value_at(right))
      low = left;
    else
      high = right;
  }
  if (best > 0 && value_at((low + high) / 2) > bound) best = (low + high) / 2;
  value_at(best);
  return prices;
}

constexpr int kLooks = 20;  // rounds between checks whether the target is reached

double squared(const std::vector<double>& values) {
  return std::inner_product(values.begin(), values.end(), values.begin(), 0.0);
}

// Subgradient ascent. Any λ ≥ 0 gives a valid bound, so step lengths and the order of rounds affect its quality only,
// never its validity; the best λ is kept. Polyak's step would be (optimum − L) / |direction|²; the unknown optimum is
// replaced by the best bound + hope. If nothing improves for a while, the hope was too large: it is halved, and the
// ascent continues from the best λ. Averaging directions damps the zigzag between the same few slots. The mean of the
// cuts over the later rounds approximates the primal solution of the linear relaxation; rounded_plan() starts from it.
Lagrangian bound_from(const LinearCosts& costs, double target_usd, int rounds, std::vector<double> prices,
                      bool stops_at_target) {
  constexpr double kMemory = 0.6;  // of the direction of earlier rounds
  constexpr int kPatience = 30;    // rounds without a better bound before the hope is halved
  constexpr double kHope = 0.05;   // at most, of the first bound, which is good already
  const std::size_t slots = costs.slots.size();
  std::vector<double> direction(slots, 0);
  Lagrangian best;
  best.bound_usd = -kNever;
  double hope = 0;  // how much better than the best bound we expect to get
  int stale = 0;
  double counted = 0;
  for (int round = 0; round < rounds; ++round) {
    const Evaluation at = evaluate(costs, prices);
    if (stops_at_target && round % kLooks == kLooks - 1 && best.bound_usd + rules_usd(costs, best) >= target_usd) break;
    if (round == 0)
      hope =
          std::clamp(target_usd - at.value, 1e-9 * std::fabs(target_usd), std::max(kHope * std::fabs(at.value), 1e-6));
    if (at.value > best.bound_usd) {
      best.bound_usd = at.value;
      best.prices_usd = prices;
      best.cheapest_usd = at.cheapest;
      stale = 0;
    } else if (++stale == kPatience) {
      hope /= 2;
      stale = 0;
      prices = best.prices_usd;
      direction.assign(slots, 0);
      continue;
    }
    const bool fits = squared(at.excess) == 0;  // demand equals supply everywhere: these prices are optimal
    if (fits) {
      best.nodes.clear();
      counted = 0;
    }
    if (fits || 2 * round >= rounds) {
      counted += 1;
      for (std::size_t i = 0; i < at.cuts.size(); ++i) best.nodes[at.cuts[i]] += at.nodes[i];
    }
    for (std::size_t slot = 0; slot < slots; ++slot)
      direction[slot] = kMemory * direction[slot] + (1 - kMemory) * at.excess[slot];
    const double norm = squared(direction);
    if (fits || norm < 1e-18) break;
    const double step = (best.bound_usd + hope - at.value) / norm;
    for (std::size_t slot = 0; slot < slots; ++slot)
      prices[slot] = std::max(0.0, prices[slot] + step * direction[slot]);
  }
  for (auto& [cut, nodes] : best.nodes) nodes /= std::max(1.0, counted);
  return best;
}

}  // namespace

Lagrangian lagrangian_bound(const LinearCosts& costs, double target_usd, int rounds) {
  return bound_from(costs, target_usd, rounds, first_prices(costs), false);
}

Lagrangian lagrangian_bound(const LinearCosts& costs, double target_usd, int rounds,
                            const std::vector<double>& prices_usd) {
  return bound_from(costs, target_usd, rounds, prices_usd.empty() ? first_prices(costs) : prices_usd, true);
}

double rules_usd(const LinearCosts& costs, const Lagrangian& dual) {
  if (costs.running_min == 0) return 0;
  const std::size_t slots = costs.slots.size();
  std::vector<double> to_run;  // by job: what it pays in L(λ) for running at all
  for (std::size_t job = 0; job < costs.jobs(); ++job) {
    double least = kNever;
    for (std::size_t slot = 0; slot < slots; ++slot)
      least = std::min(least, costs.at(job, slot) + dual.prices_usd[slot]);
    to_run.push_back(std::max(0.0, least - dual.cheapest_usd[job]));
  }
  std::sort(to_run.begin(), to_run.end());
  const auto sum_of = [&](std::size_t count) {
    const auto end = to_run.begin() + static_cast<std::ptrdiff_t>(std::min(count, to_run.size()));
    return std::accumulate(to_run.begin(), end, 0.0);
  };
  const double all = sum_of(costs.running_min);
  if (costs.one_of.empty()) return all;
  double one = kNever;
  for (const std::size_t entry : costs.one_of) {
    const double cost = costs.job_usd[entry] + dual.prices_usd[entry % slots];
    one = std::min(one, std::max(0.0, cost - dual.cheapest_usd[entry / slots]));
  }
  return std::max(all, one + sum_of(costs.running_min - 1));
}

// Reduced-cost fixing: a plan that uses entry (job, slot) costs at least the bound plus the entry's price above the
// job's cheapest. If that exceeds the target, no plan below the target uses the entry.
std::vector<bool> open_entries(const LinearCosts& costs, const Lagrangian& dual, double target_usd) {
  const double room = target_usd - dual.bound_usd + 1e-6 * std::max(1.0, std::fabs(target_usd));
  const std::size_t slots = costs.slots.size();
  std::vector<bool> open(costs.job_usd.size(), false);
  for (std::size_t job = 0; job < costs.jobs(); ++job)
    for (std::size_t slot = 0; slot < slots; ++slot)
      open[job * slots + slot] = costs.at(job, slot) + dual.prices_usd[slot] - dual.cheapest_usd[job] <= room;
  return open;
}

namespace {

// Whole nodes near the mean ones: rounded down, then up where the largest fractions are.
std::vector<std::pair<std::size_t, Partition>> rounded_nodes(const LinearCosts& costs, const Lagrangian& dual) {
  struct Part {
    double lost;
    const std::pair<std::size_t, Partition>* cut;
  };
  std::vector<Part> parts;
  std::vector<std::pair<std::size_t, Partition>> nodes;
  NodeLimits limits = costs.limits();
  double sum = 0;
  for (const auto& [cut, mean] : dual.nodes) {
    int whole = 0;
    for (; whole < static_cast<int>(mean) && limits.may_open(cut.first); ++whole) {
      limits.open(cut.first);
      nodes.push_back(cut);
    }
    parts.push_back({mean - whole, &cut});
    sum += mean;
  }
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.lost > b.lost; });
  const auto wanted = static_cast<std::size_t>(std::min<double>(std::ceil(sum - 1e-6), costs.nodes_max));
  for (const Part& part : parts) {
    if (nodes.size() >= wanted) break;
    if (!limits.may_open(part.cut->first)) continue;
    limits.open(part.cut->first);
    nodes.push_back(*part.cut);
  }
  return nodes;
}

// Jobs in the order of what they lose if they do not get their cheapest slot, or any at all.
std::vector<std::size_t> by_loss(const LinearCosts& costs, const Lagrangian& dual, Loss loss) {
  std::vector<std::tuple<double, double, std::size_t>> order;
  for (std::size_t job = 0; job < costs.jobs(); ++job) {
    double first = costs.postponed_usd[job], second = kNever;
    for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) {
      const double cost = costs.at(job, slot) + dual.prices_usd[slot];
      second = std::min(second, std::max(first, cost));
      first = std::min(first, cost);
    }
    // At prices that keep several jobs out, those that pay most for waiting are the nearest to running.
    const double postponed = costs.postponed_usd[job];
    order.emplace_back(first - (loss == Loss::kOfFirst ? second : postponed), -postponed, job);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> jobs;
  for (const auto& [gain, waiting, job] : order) jobs.push_back(job);
  return jobs;
}

}  // namespace

Plan rounded_plan(const LinearCosts& costs, const Lagrangian& dual, Loss loss) {
  const auto nodes = rounded_nodes(costs, dual);
  Plan plan{costs.kept};
  std::vector<std::vector<std::size_t>> places(costs.slots.size());  // nodes with a free part of that kind
  const auto offer = [&](std::size_t vm, const Partition& parts, std::size_t node) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      for (int n = 0; n < parts[i]; ++n) places[costs.first_slot[vm] + i].push_back(node);
  };
  for (std::size_t n = 0; n < costs.kept.size(); ++n) {
    const Node& node = costs.kept[n];
    offer(node.vm, best_cut_of(&dual.prices_usd[costs.first_slot[node.vm]], costs.free_gpus(node)).parts, n);
  }
  for (const auto& [vm, parts] : nodes) {
    offer(vm, parts, plan.nodes.size());
    plan.nodes.push_back({vm});
  }
  for (const std::size_t job : by_loss(costs, dual, loss)) {
    double least = kNever;
    std::size_t where = costs.slots.size();
    for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) {
      const double cost = costs.at(job, slot);
      if (places[slot].empty() || cost >= costs.postponed_usd[job] || cost + dual.prices_usd[slot] >= least) continue;
      least = cost + dual.prices_usd[slot];
      where = slot;
    }
    if (where == costs.slots.size()) continue;
    plan.nodes[places[where].back()].jobs.push_back({job, costs.slots[where].gpus});
    places[where].pop_back();
  }
  std::erase_if(plan.nodes, [](const Node& node) { return node.jobs.empty(); });
  return plan;
}

namespace {

// Nodes of each type by the GPUs they have left.
class FreeGpus {
 public:
  explicit FreeGpus(const LinearCosts& costs) {
    for (const int gpus : costs.vm_gpus) nodes_.emplace_back(static_cast<std::size_t>(gpus) + 1);
  }
  void add(std::size_t vm, int gpus, std::size_t node) { nodes_[vm][static_cast<std::size_t>(gpus)].push_back(node); }
  // The number of GPUs left on the node of the type that has enough and fewest; 0: none has.
  int fit(std::size_t vm, int gpus) const {
    for (std::size_t left = static_cast<std::size_t>(gpus); left < nodes_[vm].size(); ++left)
      if (!nodes_[vm][left].empty()) return static_cast<int>(left);
    return 0;
  }
  std::size_t take(std::size_t vm, int left, int gpus) {
    std::vector<std::size_t>& from = nodes_[vm][static_cast<std::size_t>(left)];
    const std::size_t node = from.back();
    from.pop_back();
    if (left > gpus) add(vm, left - gpus, node);
    return node;
  }

 private:
  std::vector<std::vector<std::vector<std::size_t>>> nodes_;
};

}  // namespace

Plan priced_plan(const LinearCosts& costs, const Lagrangian& dual) {
  Plan plan{costs.kept};
  FreeGpus free(costs);
  for (std::size_t n = 0; n < plan.nodes.size(); ++n)
    if (const int left = costs.free_gpus(plan.nodes[n]); left > 0) free.add(plan.nodes[n].vm, left, n);
  for (const auto& [vm, parts] : rounded_nodes(costs, dual)) {
    free.add(vm, costs.vm_gpus[vm], plan.nodes.size());
    plan.nodes.push_back({vm});
  }
  for (const std::size_t job : by_loss(costs, dual, Loss::kOfAll)) {
    double least = kNever;
    std::size_t where = costs.slots.size();
    for (std::size_t slot = 0; slot < costs.slots.size(); ++slot) {
      const double cost = costs.at(job, slot);
      if (cost >= costs.postponed_usd[job] || cost + dual.prices_usd[slot] >= least) continue;
      if (free.fit(costs.slots[slot].vm, costs.slots[slot].gpus) == 0) continue;
      least = cost + dual.prices_usd[slot];
      where = slot;
    }
    if (where == costs.slots.size()) continue;
    const Slot& slot = costs.slots[where];
    const std::size_t node = free.take(slot.vm, free.fit(slot.vm, slot.gpus), slot.gpus);
    plan.nodes[node].jobs.push_back({job, slot.gpus});
  }
  std::erase_if(plan.nodes, [](const Node& node) { return node.jobs.empty(); });
  return plan;
}

}  // namespace orrery::plan
