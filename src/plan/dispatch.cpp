#include "plan/dispatch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace orrery::plan {

namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();

// Jobs on nodes, from now until the last job has ended.
class Yard {
 public:
  Yard(const Outlook& outlook, const DispatchRule& rule)
      : outlook_(outlook),
        instance_(outlook.instance()),
        rule_(rule),
        now_(instance_.now_s),
        left_(instance_.jobs.size(), 1),
        begun_(instance_.jobs.size(), false),
        held_(instance_.jobs.size()),
        open_(instance_.vm_types.size(), 0) {
    for (std::size_t job = 0; job < held_.size(); ++job) held_[job] = instance_.jobs[job].held;
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
      if (!room || !place(job, weight)) {
        held_[job].reset();
        waiting_[still++] = job;
      }
    }
    waiting_.resize(still);
  }

  // Until the next job ends; false if none runs.
  bool advance() {
    if (running_.empty()) return false;
    now_ = kForever;
    for (const Run& run : running_) now_ = std::min(now_, run.end_s);
    std::size_t still = 0;
    for (const Run& run : running_) {
      if (run.end_s <= now_)
        finish(run);
      else
        running_[still++] = run;
    }
    running_.resize(still);
    if (rule_.anew) stop_all();
    return true;
  }

  Plan plan() const {
    Plan plan;
    for (const Place& place : nodes_)
      if (!place.node.jobs.empty()) plan.nodes.push_back(place.node);
    return plan;
  }
  const Forecast& so_far() const { return so_far_; }
  const std::vector<std::size_t>& started() const { return started_; }

 private:
  struct Run {
    std::size_t job = 0;
    std::size_t node = 0;
    int gpus = 1;
    double from_s = 0;  // when it continues, after the switching time
    double end_s = 0;
  };
  struct Place {
    Node node;  // without jobs: closed
    int free = 0;
    double since_s = 0;
  };
  struct Choice {
    std::size_t node = 0;  // nodes_.size(): to be opened
    std::size_t vm = 0;
    int gpus = 0;
    double usd = kForever;
  };

  double key(std::size_t index, double mean_s) const {
    const Job& job = instance_.jobs[index];
    const double shortest = left_[index] * outlook_.shortest_s(index);
    const double ratio = job.weight_usd_s / std::max(shortest, 1e-9);
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
    const double slack = std::max(0.0, job.due_s - shortest - now_);
    return -ratio * std::exp(-slack / std::max(2 * mean_s, 1e-9));
  }

  void put_in_order() {
    double sum = 0;
    for (const std::size_t job : waiting_) sum += left_[job] * outlook_.shortest_s(job);
    const double mean = waiting_.empty() ? 0 : sum / static_cast<double>(waiting_.size());
    order_.clear();
    for (const std::size_t job : waiting_) order_.emplace_back(key(job, mean), job);
    std::sort(order_.begin(), order_.end());
    for (std::size_t i = 0; i < order_.size(); ++i) waiting_[i] = order_[i].second;
  }

  // What a GPU costs others for a second.
  double crowding_usd(std::size_t job, double others_usd_s) const {
    const double factor = rule_.modest.empty() ? 1 : rule_.modest[job];
    return rule_.crowding * factor * others_usd_s / outlook_.gpus_max();
  }

  void consider(std::size_t index, double gpu_usd_s, std::size_t node, std::size_t vm, int gpus_max,
                Choice& best) const {
    const Job& job = instance_.jobs[index];
    const VmType& type = instance_.vm_types[vm];
    const bool is_new = node == nodes_.size();
    for (int gpus = 1; gpus <= gpus_max; ++gpus) {
      const double time = left_[index] * outlook_.time_s(index, vm, gpus);
      const double share = is_new ? 1 : static_cast<double>(gpus) / type.gpus;
      const double usd = job.weight_usd_s * std::max(0.0, now_ + time - job.due_s) +
                         type.price_usd_h / 3600 * share * time + gpu_usd_s * gpus * time;
      if (usd < best.usd) best = {node, vm, gpus, usd};
    }
  }

  // Whether the quotas allow one machine more.
  bool quotas_allow(std::size_t vm) const {
    return std::all_of(instance_.quotas.begin(), instance_.quotas.end(), [&](const Quota& quota) {
      if (std::find(quota.vms.begin(), quota.vms.end(), vm) == quota.vms.end()) return true;
      int gpus = instance_.vm_types[vm].gpus;
      for (const std::size_t other : quota.vms) gpus += open_[other] * instance_.vm_types[other].gpus;
      return gpus <= quota.gpus_max;
    });
  }

  bool place(std::size_t job, double others_usd_s) {
    const double gpu_usd_s = crowding_usd(job, others_usd_s);
    Choice best;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Place& at = nodes_[n];
      if (at.free > 0 && !at.node.jobs.empty()) consider(job, gpu_usd_s, n, at.node.vm, at.free, best);
    }
    for (std::size_t vm = 0; vm < open_.size() && open_nodes_ < instance_.nodes; ++vm) {
      const VmType& type = instance_.vm_types[vm];
      if (open_[vm] < type.nodes_max && quotas_allow(vm)) consider(job, gpu_usd_s, nodes_.size(), vm, type.gpus, best);
    }
    if (best.gpus == 0) return false;
    if (best.node == nodes_.size()) best.node = open(best.vm);
    start(job, best.node, best.gpus);
    return true;
  }

  std::size_t open(std::size_t vm) {
    ++open_[vm];
    ++open_nodes_;
    free_gpus_ += instance_.vm_types[vm].gpus;
    if (closed_.empty()) {
      closed_.push_back(nodes_.size());
      nodes_.emplace_back();
    }
    const std::size_t at = closed_.back();
    closed_.pop_back();
    nodes_[at] = {{vm}, instance_.vm_types[vm].gpus, now_};
    return at;
  }

  void start(std::size_t job, std::size_t node, int gpus) {
    Place& at = nodes_[node];
    at.node.jobs.push_back({job, gpus});
    at.free -= gpus;
    free_gpus_ -= gpus;
    if (!begun_[job]) started_.push_back(job);
    begun_[job] = true;
    const std::pair where(at.node.vm, gpus);
    const double from = now_ + (held_[job] == where ? 0 : instance_.jobs[job].switch_s);
    const double time = outlook_.time_s(job, at.node.vm, gpus);
    running_.push_back({job, node, gpus, from, from + left_[job] * (time < kForever ? time : kTimeMaxS)});
    held_[job] = where;
  }

  void finish(const Run& run) {
    leave(run);
    const Job& job = instance_.jobs[run.job];
    so_far_.tardiness_usd += job.weight_usd_s * std::max(0.0, now_ - job.due_s);
    so_far_.flow_usd += job.weight_usd_s * (now_ - instance_.now_s);
    so_far_.end_s = now_;
  }

  // All running jobs wait again.
  void stop_all() {
    for (const Run& run : running_) {
      const double time = outlook_.time_s(run.job, nodes_[run.node].node.vm, run.gpus);
      left_[run.job] = std::max(1e-9, left_[run.job] - std::max(0.0, now_ - run.from_s) / time);
      leave(run);
      waiting_.push_back(run.job);
    }
    running_.clear();
    nodes_.clear();
    closed_.clear();
  }

  void leave(const Run& run) {
    Place& at = nodes_[run.node];
    std::erase_if(at.node.jobs, [&](const RunningJob& one) { return one.job == run.job; });
    at.free += run.gpus;
    free_gpus_ += run.gpus;
    if (!at.node.jobs.empty()) return;
    so_far_.rental_usd += instance_.vm_types[at.node.vm].price_usd_h / 3600 * (now_ - at.since_s);
    --open_[at.node.vm];
    --open_nodes_;
    free_gpus_ -= at.free;
    closed_.push_back(run.node);
  }

  const Outlook& outlook_;
  const Instance& instance_;
  DispatchRule rule_;
  double now_;
  std::vector<double> left_;  // by job: share of its work
  std::vector<bool> begun_;   // by job
  std::vector<std::optional<std::pair<std::size_t, int>>>
      held_;  // by job: VM type and GPUs with which it continues at no cost
  std::vector<std::size_t> waiting_;
  std::vector<std::pair<double, std::size_t>> order_;  // scratch
  std::vector<Place> nodes_;
  std::vector<std::size_t> closed_;  // of nodes_
  std::vector<int> open_;            // by VM type
  int open_nodes_ = 0;
  int free_gpus_ = 0;  // of open nodes
  std::vector<std::size_t> started_;
  std::vector<Run> running_;
  Forecast so_far_;
};

}  // namespace

Outlook::Outlook(const Instance& instance) : instance_(instance) {
  int most = 1;
  for (const VmType& type : instance.vm_types) {
    first_.push_back(slots_);
    slots_ += static_cast<std::size_t>(type.gpus);
    most = std::max(most, type.gpus);
  }
  gpus_max_ = static_cast<double>(most) * instance.nodes;
  times_s_.reserve(instance.jobs.size() * slots_);
  for (const Job& job : instance.jobs) {
    double shortest = kForever;
    for (const VmType& type : instance.vm_types) {
      for (int gpus = 1; gpus <= type.gpus; ++gpus) {
        times_s_.push_back(plan::time_s(job, type, gpus).value_or(kForever));
        shortest = std::min(shortest, times_s_.back());
      }
    }
    shortest_s_.push_back(shortest);
  }
}

std::span<const DispatchRule> dispatch_rules() {
  static constexpr std::array kRules = {
      DispatchRule{DispatchOrder::kUrgency, 0}, DispatchRule{DispatchOrder::kUrgency, 1},
      DispatchRule{DispatchOrder::kWeight, 0},  DispatchRule{DispatchOrder::kWeight, 1},
      DispatchRule{DispatchOrder::kDue, 0},     DispatchRule{DispatchOrder::kDue, 1},
  };
  return kRules;
}

Plan dispatch_plan(const Outlook& outlook, const Plan& kept, const DispatchRule& rule) {
  Yard yard(outlook, rule);
  yard.begin(kept);
  yard.place_all();
  return yard.plan();
}

Dispatched dispatch(const Outlook& outlook, const Plan& kept, const DispatchRule& rule) {
  Yard yard(outlook, rule);
  yard.begin(kept);
  yard.place_all();
  Dispatched all{yard.plan(), {}, {}};
  while (yard.advance()) yard.place_all();
  all.forecast = yard.so_far();
  all.order = yard.started();
  return all;
}

Forecast forecast(const Outlook& outlook, const Plan& first, const DispatchRule& rule) {
  Yard yard(outlook, rule);
  yard.begin(first);
  // What the plan leaves waiting waits for the next event, unless there is none.
  if (first.nodes.empty()) yard.place_all();
  while (yard.advance()) yard.place_all();
  return yard.so_far();
}

Forecast best_forecast(const Outlook& outlook, const Plan& first, std::span<const DispatchRule> rules) {
  Forecast best{.rental_usd = kForever};
  for (const DispatchRule& rule : rules) {
    const Forecast one = forecast(outlook, first, rule);
    if (one.score() < best.score()) best = one;
  }
  return best;
}

}  // namespace orrery::plan
