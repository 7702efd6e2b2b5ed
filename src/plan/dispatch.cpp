#include "plan/dispatch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>
#include <tuple>

namespace orrery::plan {

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

double shortest_s(const Instance& instance, const Job& job) {
  double shortest = kForever;
  for (const VmType& type : instance.vm_types)
    for (int gpus = 1; gpus <= type.gpus; ++gpus)
      shortest = std::min(shortest, time_s(job, type, gpus).value_or(kForever));
  return shortest;
}

class Yard {
 public:
  Yard(const Instance& instance, const DispatchRule& rule)
      : instance_(instance), rule_(rule), now_(instance.now_s), open_(instance.vm_types.size(), 0) {
    int most = 1;
    for (const VmType& type : instance.vm_types) most = std::max(most, type.gpus);
    gpus_ = static_cast<double>(most) * instance.nodes;
    for (const Job& job : instance.jobs) shortest_.push_back(shortest_s(instance, job));
  }

  void begin(const Plan& plan) {
    std::vector<bool> runs(instance_.jobs.size(), false);
    for (const Node& node : plan.nodes) {
      const std::size_t at = open(node.vm);
      for (const RunningJob& one : node.jobs) {
        start(one.job, at, one.gpus);
        runs[one.job] = true;
      }
    }
    for (std::size_t job = 0; job < runs.size(); ++job)
      if (!runs[job]) waiting_.push_back(job);
  }

  void place_all() {
    put_in_order();
    double weight = 0;
    for (const std::size_t job : waiting_) weight += instance_.jobs[job].weight_usd_s;
    std::size_t still = 0;
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const std::size_t job = waiting_[i];
      weight -= instance_.jobs[job].weight_usd_s;
      const bool room = free_gpus_ > 0 || open_nodes_ < instance_.nodes;
      if (!room || !place(job, weight)) waiting_[still++] = job;
    }
    waiting_.resize(still);
  }

  // Until the next job ends; false if none runs.
  bool advance() {
    if (ends_.empty()) return false;
    now_ = std::get<0>(ends_.top());
    while (!ends_.empty() && std::get<0>(ends_.top()) <= now_) {
      const auto [end, job, at] = ends_.top();
      ends_.pop();
      finish(job, at);
    }
    return true;
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  const Forecast& so_far() const { return so_far_; }
  const std::vector<std::size_t>& started() const { return started_; }

 private:
  struct Place {
    std::size_t node = 0;  // nodes_.size(): to be opened
    std::size_t vm = 0;
    int gpus = 0;
    double usd = kForever;
  };

  double key(std::size_t index, double mean_s) const {
    const Job& job = instance_.jobs[index];
    const double ratio = job.weight_usd_s / std::max(shortest_[index], 1e-9);
    switch (rule_.order) {
      case DispatchOrder::kDue:
        return job.due_s;
      case DispatchOrder::kWeight:
        return -ratio;
      case DispatchOrder::kUrgency:
        break;
      case DispatchOrder::kListed:
        return rule_.keys[index];
    }
    const double slack = std::max(0.0, job.due_s - shortest_[index] - now_);
    return -ratio * std::exp(-slack / std::max(2 * mean_s, 1e-9));
  }

  void put_in_order() {
    double sum = 0;
    for (const std::size_t job : waiting_) sum += shortest_[job];
    const double mean = waiting_.empty() ? 0 : sum / static_cast<double>(waiting_.size());
    std::vector<std::pair<double, std::size_t>> order;
    for (const std::size_t job : waiting_) order.emplace_back(key(job, mean), job);
    std::sort(order.begin(), order.end());
    for (std::size_t i = 0; i < order.size(); ++i) waiting_[i] = order[i].second;
  }

  void consider(const Job& job, double others_usd_s, std::size_t node, std::size_t vm, int gpus_max,
                Place& best) const {
    const VmType& type = instance_.vm_types[vm];
    const bool is_new = node == nodes_.size();
    for (int gpus = 1; gpus <= gpus_max; ++gpus) {
      const auto time = time_s(job, type, gpus);
      if (!time) continue;
      const double share = is_new ? 1 : static_cast<double>(gpus) / type.gpus;
      const double usd = job.weight_usd_s * std::max(0.0, now_ + *time - job.due_s) +
                         type.price_usd_h / 3600 * share * *time + rule_.crowding * others_usd_s * gpus * *time / gpus_;
      if (usd < best.usd) best = {node, vm, gpus, usd};
    }
  }

  bool place(std::size_t index, double others_usd_s) {
    const Job& job = instance_.jobs[index];
    Place best;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (free_[n] > 0 && !nodes_[n].jobs.empty()) consider(job, others_usd_s, n, nodes_[n].vm, free_[n], best);
    for (std::size_t vm = 0; vm < open_.size() && open_nodes_ < instance_.nodes; ++vm) {
      const VmType& type = instance_.vm_types[vm];
      if (open_[vm] < type.nodes_max) consider(job, others_usd_s, nodes_.size(), vm, type.gpus, best);
    }
    if (best.gpus == 0) return false;
    if (best.node == nodes_.size()) best.node = open(best.vm);
    start(index, best.node, best.gpus);
    return true;
  }

  std::size_t open(std::size_t vm) {
    ++open_[vm];
    ++open_nodes_;
    nodes_.push_back({vm});
    free_.push_back(instance_.vm_types[vm].gpus);
    since_.push_back(now_);
    free_gpus_ += free_.back();
    return nodes_.size() - 1;
  }

  void start(std::size_t job, std::size_t node, int gpus) {
    const auto time = time_s(instance_.jobs[job], instance_.vm_types[nodes_[node].vm], gpus);
    nodes_[node].jobs.push_back({job, gpus});
    free_[node] -= gpus;
    free_gpus_ -= gpus;
    started_.push_back(job);
    const auto& held = instance_.jobs[job].held;
    const bool goes_on = now_ == instance_.now_s && held && *held == std::pair(nodes_[node].vm, gpus);
    const double lost = goes_on ? 0 : instance_.jobs[job].switch_s;
    ends_.emplace(now_ + lost + time.value_or(kTimeMaxS), job, node);
  }

  void finish(std::size_t index, std::size_t at) {
    Node& node = nodes_[at];
    const auto one = std::find_if(node.jobs.begin(), node.jobs.end(), [&](const auto& r) { return r.job == index; });
    free_[at] += one->gpus;
    free_gpus_ += one->gpus;
    node.jobs.erase(one);
    const Job& job = instance_.jobs[index];
    so_far_.tardiness_usd += job.weight_usd_s * std::max(0.0, now_ - job.due_s);
    so_far_.flow_usd += job.weight_usd_s * (now_ - instance_.now_s);
    so_far_.end_s = now_;
    if (!node.jobs.empty()) return;
    so_far_.rental_usd += instance_.vm_types[node.vm].price_usd_h / 3600 * (now_ - since_[at]);
    --open_[node.vm];
    --open_nodes_;
    free_gpus_ -= free_[at];
  }

  const Instance& instance_;
  DispatchRule rule_;
  double now_;
  double gpus_ = 1;               // there can be
  std::vector<double> shortest_;  // by job
  std::vector<std::size_t> waiting_;
  std::vector<Node> nodes_;  // also those that have closed: without jobs
  std::vector<int> free_;
  std::vector<double> since_;
  std::vector<int> open_;  // by VM type
  int open_nodes_ = 0;
  int free_gpus_ = 0;  // of open nodes
  std::vector<std::size_t> started_;
  using End = std::tuple<double, std::size_t, std::size_t>;  // when, job, node
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  Forecast so_far_;
};

}  // namespace

std::span<const DispatchRule> dispatch_rules() {
  static constexpr std::array kRules = {
      DispatchRule{DispatchOrder::kUrgency, 0}, DispatchRule{DispatchOrder::kUrgency, 1},
      DispatchRule{DispatchOrder::kWeight, 0},  DispatchRule{DispatchOrder::kWeight, 1},
      DispatchRule{DispatchOrder::kDue, 0},     DispatchRule{DispatchOrder::kDue, 1},
  };
  return kRules;
}

Plan dispatch_plan(const Instance& instance, const Plan& kept, const DispatchRule& rule) {
  Yard yard(instance, rule);
  yard.begin(kept);
  yard.place_all();
  return {yard.nodes()};
}

Dispatched dispatch(const Instance& instance, const Plan& kept, const DispatchRule& rule) {
  Yard yard(instance, rule);
  yard.begin(kept);
  yard.place_all();
  Dispatched all{{yard.nodes()}, {}, {}};
  while (yard.advance()) yard.place_all();
  all.forecast = yard.so_far();
  all.order = yard.started();
  return all;
}

Forecast forecast(const Instance& instance, const Plan& first, const DispatchRule& rule) {
  Yard yard(instance, rule);
  yard.begin(first);
  // What the plan leaves waiting waits for the next event, unless there is none.
  if (first.nodes.empty()) yard.place_all();
  while (yard.advance()) yard.place_all();
  return yard.so_far();
}

Forecast best_forecast(const Instance& instance, const Plan& first, std::span<const DispatchRule> rules) {
  Forecast best{.rental_usd = kForever};
  for (const DispatchRule& rule : rules) {
    const Forecast one = forecast(instance, first, rule);
    if (one.score() < best.score()) best = one;
  }
  return best;
}

}  // namespace orrery::plan
