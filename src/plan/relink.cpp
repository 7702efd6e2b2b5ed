#include "plan/relink.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "plan/greedy.h"
#include "plan/improve.h"

namespace orrery::plan {

namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
constexpr GreedyChance kWide{.configurations = 0.3};

// A plan on its path to another one.
class Path {
 public:
  Path(const LinearCosts& costs, const Plan& from) : costs_(costs), limits_(*costs.instance), at_(costs.jobs()) {
    for (const Node& node : from.nodes) add({node, false});
    usd_ = total_usd(costs, from);
  }

  double usd() const { return usd_; }

  Plan plan() const {
    Plan plan;
    for (const Stop& stop : stops_)
      if (!stop.node.jobs.empty()) plan.nodes.push_back(stop.node);
    return plan;
  }

  // What taking over the machine changes, those that must close for it not counted.
  double change_usd(const Node& node) const {
    double change = node_usd(node);
    for (const RunningJob& one : node.jobs) change -= job_usd(one.job);
    return change;
  }

  bool has(const Node& node) const {
    const std::size_t n = at_[node.jobs.front().job].stop;
    return n != kNowhere && stops_[n].node == node;
  }

  // False if there is no capacity whatever closes.
  bool take_over(const Node& node) {
    for (const RunningJob& one : node.jobs) remove(one.job);
    while (!limits_.may_open(node.vm)) {
      const std::size_t n = least_missed(node.vm);
      if (n == kNowhere) return false;
      const std::vector<RunningJob> jobs = stops_[n].node.jobs;
      for (const RunningJob& one : jobs) remove(one.job);
    }
    for (const RunningJob& one : node.jobs) usd_ -= costs_.postponed_usd[one.job];
    usd_ += node_usd(node);
    add({node, true});
    return true;
  }

 private:
  struct Stop {
    Node node;  // without jobs: closed
    bool is_taken = false;
  };
  struct Place {
    std::size_t stop = kNowhere;
    int gpus = 0;
  };

  double node_usd(const Node& node) const {
    double sum = costs_.node_usd[node.vm];
    for (const RunningJob& one : node.jobs) sum += costs_.at(one.job, costs_.slot_of(node.vm, one.gpus));
    return sum;
  }

  double job_usd(std::size_t job) const {
    const Place& place = at_[job];
    if (place.stop == kNowhere) return costs_.postponed_usd[job];
    const Node& node = stops_[place.stop].node;
    return costs_.at(job, costs_.slot_of(node.vm, place.gpus)) + (node.jobs.size() == 1 ? costs_.node_usd[node.vm] : 0);
  }

  void add(Stop stop) {
    limits_.open(stop.node.vm);
    for (const RunningJob& one : stop.node.jobs) at_[one.job] = {stops_.size(), one.gpus};
    stops_.push_back(std::move(stop));
  }

  void remove(std::size_t job) {
    if (at_[job].stop == kNowhere) return;
    usd_ += costs_.postponed_usd[job] - job_usd(job);
    Node& node = stops_[at_[job].stop].node;
    std::erase_if(node.jobs, [job](const RunningJob& one) { return one.job == job; });
    if (node.jobs.empty()) limits_.close(node.vm);
    at_[job] = {};
  }

  bool is_kept(const Node& node) const {
    return std::any_of(node.jobs.begin(), node.jobs.end(),
                       [&](const RunningJob& one) { return costs_.is_pinned(one.job); });
  }

  // The machine whose closing gives enough capacity and costs least: of that type or quota if those are full, else any.
  std::size_t least_missed(std::size_t vm) {
    std::size_t best = kNowhere;
    double least = kNever;
    bool best_makes_room = false;
    for (std::size_t n = 0; n < stops_.size(); ++n) {
      const Node& node = stops_[n].node;
      if (node.jobs.empty() || stops_[n].is_taken || is_kept(node)) continue;
      const bool makes_room = limits_.may_become(node.vm, vm);
      double loss = -node_usd(node);
      for (const RunningJob& one : node.jobs) loss += costs_.postponed_usd[one.job];
      if (std::pair(!makes_room, loss) >= std::pair(!best_makes_room, least)) continue;
      best = n;
      least = loss;
      best_makes_room = makes_room;
    }
    return best;
  }

  const LinearCosts& costs_;
  NodeLimits limits_;
  std::vector<Stop> stops_;
  std::vector<Place> at_;  // by job
  double usd_ = 0;
};

// Machines of the plan that may be taken over: without pinned jobs.
std::vector<const Node*> free_to_take(const LinearCosts& costs, const Plan& plan) {
  std::vector<const Node*> nodes;
  for (const Node& node : plan.nodes) {
    if (std::none_of(node.jobs.begin(), node.jobs.end(), [&](const auto& one) { return costs.is_pinned(one.job); }))
      nodes.push_back(&node);
  }
  return nodes;
}

// One of the best of them, taken out of the list.
const Node* draw(std::vector<const Node*>& nodes, const Path& path, double share, Random& random) {
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t i = 0; i < nodes.size(); ++i) ranked.emplace_back(path.change_usd(*nodes[i]), i);
  std::sort(ranked.begin(), ranked.end());
  const auto best = static_cast<std::uint64_t>(std::max(1.0, std::round(share * static_cast<double>(nodes.size()))));
  const std::size_t chosen = ranked[random.below(best)].second;
  const Node* node = nodes[chosen];
  nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(chosen));
  return node;
}

class Elite {
 public:
  Elite(const LinearCosts& costs, std::size_t size) : costs_(costs), size_(size) {}

  void offer(Plan plan) {
    const double usd = total_usd(costs_, plan);
    const bool is_known = std::any_of(plans_.begin(), plans_.end(), [&](const auto& one) { return one.first == usd; });
    if (is_known || (plans_.size() == size_ && usd >= plans_.back().first)) return;
    const auto place = std::find_if(plans_.begin(), plans_.end(), [&](const auto& one) { return one.first > usd; });
    plans_.insert(place, {usd, std::move(plan)});
    if (plans_.size() > size_) plans_.pop_back();
  }
  // The cheapest first.
  const std::vector<std::pair<double, Plan>>& plans() const { return plans_; }

 private:
  const LinearCosts& costs_;
  std::size_t size_;
  std::vector<std::pair<double, Plan>> plans_;
};

}  // namespace

Plan best_between(const LinearCosts& costs, const Plan& from, const Plan& to, double share, Random& random) {
  Path path(costs, from);
  std::vector<const Node*> left = free_to_take(costs, to);
  Plan best = from;
  double least = kNever;
  for (int step = 0; step < costs.nodes_max; ++step) {
    std::erase_if(left, [&](const Node* node) { return path.has(*node); });
    if (left.size() < 2) break;  // the last step ends at the other plan
    if (!path.take_over(*draw(left, path, share, random))) break;
    if (path.usd() >= least) continue;
    least = path.usd();
    best = path.plan();
  }
  return best;
}

Plan relinked_plan(const LinearCosts& costs, const Plan& known, const RelinkOptions& options) {
  ORRERY_CHECK(costs.running_min == 0 && options.tries >= 1 && options.elite >= 1);
  Random random(options.seed);
  Elite drawn(costs, options.elite);
  drawn.offer(within_budget(costs, greedy_plan(*costs.instance)));
  for (int i = 1; i < options.tries; ++i)
    drawn.offer(within_budget(costs, random_greedy_plan(*costs.instance, i % 2 == 0 ? kWide : GreedyChance{}, random)));
  const auto improved = [&](Plan plan) {
    return improve(costs, within_budget(costs, std::move(plan)), options.comparisons_max);
  };
  Elite elite(costs, options.elite);
  elite.offer(known);
  for (const auto& [usd, plan] : drawn.plans()) elite.offer(improved(plan));
  const std::vector<std::pair<double, Plan>> ends = elite.plans();
  for (std::size_t i = 1; i < ends.size(); ++i) {
    elite.offer(improved(best_between(costs, ends[i].second, ends[0].second, options.share, random)));
    elite.offer(improved(best_between(costs, ends[0].second, ends[i].second, options.share, random)));
  }
  return elite.plans().front().second;
}

}  // namespace orrery::plan
