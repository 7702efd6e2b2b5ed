#include "plan/improve.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/check.h"

namespace orrery::plan {

namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
constexpr double kWorthwhileUsd = 1e-10;
constexpr double kWorthwhileShare =
    1e-12;  // of all that could be paid: less is noise of doubles, which goes in circles

struct Place {
  std::size_t node = kNowhere;
  int gpus = 0;
};

// Hill climbing. Invariants between moves: every job is on at most one node (places_ and nodes_ agree); free_ is a
// node's GPUs minus those of its jobs; by_free_ lists exactly the open nodes, which are those with jobs, and limits_
// and rent_left_ count exactly these; pinned jobs and their nodes are unchanged. Every accepted move lowers the sum of
// costs by at least worthwhile_usd_, so rounds end, and the limits that held at the start still hold.
class Improver {
 public:
  Improver(const LinearCosts& costs, Plan plan, std::int64_t budget)
      : costs_(costs),
        nodes_(std::move(plan.nodes)),
        budget_(budget),
        places_(costs.jobs()),
        limits_(*costs.instance),
        by_free_(costs.node_usd.size()) {
    for (std::size_t vm = 0; vm < by_free_.size(); ++vm)
      by_free_[vm].resize(static_cast<std::size_t>(costs.vm_gpus[vm]) + 1);
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      for (const RunningJob& one : nodes_[n].jobs) places_[one.job] = {n, one.gpus};
      free_.push_back(costs.vm_gpus[nodes_[n].vm] - nodes_[n].used_gpus());
      limits_.open(nodes_[n].vm);
      list(n);
    }
    double most = 0;
    for (const double usd : costs.postponed_usd) most += std::fabs(usd);
    worthwhile_usd_ = kWorthwhileUsd + kWorthwhileShare * most;
    if (costs.has_budget()) rent_left_ = costs.instance->budget_usd - total_rent_usd(costs, {nodes_});
  }

  Plan run() {
    bool better = true;
    while (better && budget_ > 0) {
      better = false;
      for (std::size_t job = 0; job < places_.size() && budget_ > 0; ++job) better |= move(job);
      for (std::size_t job = 0; job < places_.size() && budget_ > 0; ++job) better |= swap(job);
      for (std::size_t job = 0; job < places_.size() && budget_ > 0; ++job) better |= share(job);
      for (std::size_t n = 0; n < nodes_.size() && budget_ > 0; ++n) better |= retype(n);
    }
    Plan plan;
    for (Node& node : nodes_)
      if (!node.jobs.empty()) plan.nodes.push_back(std::move(node));
    return plan;
  }

 private:
  void list(std::size_t n) { by_free_[nodes_[n].vm][static_cast<std::size_t>(free_[n])].insert(n); }
  void unlist(std::size_t n) { by_free_[nodes_[n].vm][static_cast<std::size_t>(free_[n])].erase(n); }

  double cost_at(std::size_t job, const Place& place) const {
    if (place.node == kNowhere) return costs_.postponed_usd[job];
    return costs_.at(job, costs_.slot_of(nodes_[place.node].vm, place.gpus));
  }

  void remove(std::size_t job) {
    const Place place = places_[job];
    if (place.node == kNowhere) return;
    Node& node = nodes_[place.node];
    unlist(place.node);
    std::erase_if(node.jobs, [&](const RunningJob& one) { return one.job == job; });
    free_[place.node] += place.gpus;
    places_[job] = {};
    if (!node.jobs.empty()) {
      list(place.node);
      return;
    }
    limits_.close(node.vm);
    closed_.insert(place.node);
  }

  void put(std::size_t job, const Place& place) {
    if (place.node == kNowhere) return;
    unlist(place.node);
    nodes_[place.node].jobs.push_back({job, place.gpus});
    free_[place.node] -= place.gpus;
    places_[job] = place;
    list(place.node);
  }

  // A node of that type, an earlier closed one if there is any.
  std::size_t open_node(std::size_t vm) {
    if (closed_.empty()) {
      closed_.insert(nodes_.size());
      nodes_.emplace_back();
      free_.push_back(0);
    }
    const std::size_t n = *closed_.begin();
    closed_.erase(closed_.begin());
    nodes_[n] = {vm};
    free_[n] = costs_.vm_gpus[vm];
    limits_.open(vm);
    list(n);
    return n;
  }

  // What counts for the budget; 0 without one.
  double rent_in(std::size_t job, std::size_t vm, int gpus) const {
    return costs_.has_budget() ? costs_.rent_at(job, costs_.slot_of(vm, gpus)) : 0;
  }
  double rent_at(std::size_t job, const Place& place) const {
    return place.node == kNowhere ? 0 : rent_in(job, nodes_[place.node].vm, place.gpus);
  }
  // Whether the budget allows this much more rent; takes it if so.
  bool spend(double more_usd) {
    if (more_usd > rent_left_) return false;
    rent_left_ -= more_usd;
    return true;
  }

  // Move 1. The job is taken out first, so that its own GPUs, and its own node if it was alone, count as free; the cost
  // of that node is part of what the job pays now. Nodes of a type with equally many free GPUs are alike, so one of
  // each is tried. Otherwise the job goes back; its node may get another number.
  bool move(std::size_t job) {
    if (costs_.is_pinned(job)) return false;
    const Place before = places_[job];
    const bool alone = before.node != kNowhere && nodes_[before.node].jobs.size() == 1;
    const std::size_t own_vm = alone ? nodes_[before.node].vm : kNowhere;
    const double own_node = alone ? costs_.node_usd[own_vm] : 0;
    const double now = cost_at(job, before) + own_node;
    const double rent_max = rent_left_ + rent_at(job, before) + own_node;
    double rent = 0;
    remove(job);
    Place best;
    std::size_t best_vm = kNowhere;  // to open
    double least = costs_.postponed_usd[job];
    for (std::size_t vm = 0; vm < by_free_.size(); ++vm) {
      for (std::size_t size = 1; size < by_free_[vm].size(); ++size) {
        if (by_free_[vm][size].empty()) continue;
        const std::size_t n = *by_free_[vm][size].begin();
        for (int gpus = 1; gpus <= static_cast<int>(size); ++gpus) {
          --budget_;
          const double cost = costs_.at(job, costs_.slot_of(vm, gpus));
          if (cost >= least || rent_in(job, vm, gpus) > rent_max) continue;
          least = cost;
          rent = rent_in(job, vm, gpus);
          best = {n, gpus};
          best_vm = kNowhere;
        }
      }
      if (!limits_.may_open(vm)) continue;
      for (int gpus = 1; gpus <= costs_.vm_gpus[vm]; ++gpus) {
        --budget_;
        const double cost = costs_.node_usd[vm] + costs_.at(job, costs_.slot_of(vm, gpus));
        const double wanted = rent_in(job, vm, gpus) + costs_.node_usd[vm];
        if (cost >= least || wanted > rent_max) continue;
        least = cost;
        rent = wanted;
        best = {kNowhere, gpus};
        best_vm = vm;
      }
    }
    if (least < now - worthwhile_usd_) {
      if (best_vm != kNowhere) best.node = open_node(best_vm);
      put(job, best);
      rent_left_ = rent_max - rent;
      return true;
    }
    if (alone) {
      const std::size_t n = open_node(own_vm);
      put(job, {n, before.gpus});
    } else {
      put(job, before);
    }
    return false;
  }

  // Move 2. The places keep their sizes, so only costs and rent change, not free GPUs or open nodes. A job on the same
  // node has nothing to exchange but numbers of GPUs, which the other moves cover.
  bool swap(std::size_t job) {
    if (costs_.is_pinned(job)) return false;
    bool better = false;
    for (std::size_t other = 0; other < places_.size() && budget_ > 0; ++other) {
      --budget_;
      const Place mine = places_[job], theirs = places_[other];
      if (theirs.node == kNowhere || theirs.node == mine.node || costs_.is_pinned(other)) continue;
      const double change = cost_at(job, theirs) + cost_at(other, mine) - cost_at(job, mine) - cost_at(other, theirs);
      if (!(change < -worthwhile_usd_)) continue;
      if (!spend(rent_at(job, theirs) + rent_at(other, mine) - rent_at(job, mine) - rent_at(other, theirs))) continue;
      exchange(job, other);
      better = true;
    }
    return better;
  }

  void exchange(std::size_t job, std::size_t other) {
    const Place mine = places_[job], theirs = places_[other];
    for (RunningJob& one : nodes_[theirs.node].jobs)
      if (one.job == other) one.job = job;
    if (mine.node != kNowhere)
      for (RunningJob& one : nodes_[mine.node].jobs)
        if (one.job == job) one.job = other;
    places_[job] = theirs;
    places_[other] = mine;
  }

  // Move 3: a waiting job takes some of the GPUs of the job that can spare them best. The node stays open and its free
  // GPUs stay the same, so no limit but the budget is touched.
  bool share(std::size_t job) {
    if (places_[job].node != kNowhere || costs_.is_pinned(job)) return false;
    double least = -worthwhile_usd_;
    std::size_t best = kNowhere;
    int given = 0;
    for (std::size_t other = 0; other < places_.size(); ++other) {
      const Place theirs = places_[other];
      if (theirs.node == kNowhere || theirs.gpus < 2 || costs_.is_pinned(other)) continue;
      const double now = cost_at(other, theirs) + costs_.postponed_usd[job];
      for (int gpus = 1; gpus < theirs.gpus; ++gpus) {
        --budget_;
        const double change =
            cost_at(job, {theirs.node, gpus}) + cost_at(other, {theirs.node, theirs.gpus - gpus}) - now;
        if (!(change < least)) continue;
        least = change;
        best = other;
        given = gpus;
      }
    }
    if (best == kNowhere) return false;
    const Place shared = places_[best];
    if (!spend(rent_at(job, {shared.node, given}) + rent_at(best, {shared.node, shared.gpus - given}) -
               rent_at(best, shared)))
      return false;
    for (RunningJob& one : nodes_[shared.node].jobs)
      if (one.job == best) one.gpus -= given;
    places_[best].gpus -= given;
    nodes_[shared.node].jobs.push_back({job, given});
    places_[job] = {shared.node, given};
    return true;
  }

  // Move 4. A type is possible if it has the used GPUs; the node keeps its jobs and their numbers of GPUs. Closing the
  // node is compared with the best type, with the jobs' costs of waiting.
  bool retype(std::size_t n) {
    Node& node = nodes_[n];
    const bool stays = std::any_of(node.jobs.begin(), node.jobs.end(),
                                   [&](const RunningJob& one) { return costs_.is_pinned(one.job); });
    if (node.jobs.empty() || stays) return false;
    const int used = costs_.vm_gpus[node.vm] - free_[n];
    double least = cost_as(node, node.vm) - worthwhile_usd_;
    std::size_t best = node.vm;
    for (std::size_t vm = 0; vm < costs_.node_usd.size(); ++vm) {
      if (vm == node.vm || costs_.vm_gpus[vm] < used || !limits_.may_become(node.vm, vm)) continue;
      if (rent_as(node, vm) - rent_as(node, node.vm) > rent_left_) continue;
      const double cost = cost_as(node, vm);
      if (cost >= least) continue;
      least = cost;
      best = vm;
    }
    double waiting = 0;
    for (const RunningJob& one : node.jobs) waiting += costs_.postponed_usd[one.job];
    if (waiting < least) {
      rent_left_ += rent_as(node, node.vm);
      const std::vector<RunningJob> jobs = node.jobs;
      for (const RunningJob& one : jobs) remove(one.job);
      return true;
    }
    if (best == node.vm) return false;
    rent_left_ -= rent_as(node, best) - rent_as(node, node.vm);
    unlist(n);
    limits_.close(node.vm);
    limits_.open(best);
    node.vm = best;
    free_[n] = costs_.vm_gpus[best] - used;
    list(n);
    return true;
  }

  double rent_as(const Node& node, std::size_t vm) const {
    if (!costs_.has_budget()) return 0;
    double sum = costs_.node_usd[vm];
    for (const RunningJob& one : node.jobs) sum += rent_in(one.job, vm, one.gpus);
    return sum;
  }

  double cost_as(const Node& node, std::size_t vm) {
    double sum = costs_.node_usd[vm];
    for (const RunningJob& one : node.jobs) {
      --budget_;
      sum += costs_.at(one.job, costs_.slot_of(vm, one.gpus));
    }
    return sum;
  }

  const LinearCosts& costs_;
  std::vector<Node> nodes_;
  std::int64_t budget_;
  std::vector<Place> places_;  // by job
  std::vector<int> free_;      // GPUs by node
  NodeLimits limits_;
  double rent_left_ = kNever;                                // of the budget
  double worthwhile_usd_ = 0;                                // gains at least
  std::vector<std::vector<std::set<std::size_t>>> by_free_;  // open nodes by VM type and free GPUs
  std::set<std::size_t> closed_;                             // nodes without jobs
};

}  // namespace

Plan improve(const LinearCosts& costs, Plan plan, std::int64_t comparisons_max) {
  ORRERY_CHECK(costs.running_min == 0);
  return Improver(costs, std::move(plan), comparisons_max).run();
}

}  // namespace orrery::plan
