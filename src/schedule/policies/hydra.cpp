#include "schedule/policies/hydra.h"

#include <algorithm>
#include <cmath>

#include "schedule/policies/allox.h"

namespace orrery::schedule {

namespace {

struct Cost {
  double overrun = 0;
  double total = 0;

  friend Cost operator+(const Cost& a, const Cost& b) { return {a.overrun + b.overrun, a.total + b.total}; }
  // Sums of the same times in another order differ by rounding.
  bool below(const Cost& other) const {
    constexpr double kEpsilon = 1e-7;
    if (overrun < other.overrun - kEpsilon) return true;
    return overrun <= other.overrun + kEpsilon && total < other.total - kEpsilon;
  }
};

class HydraSearch {
 public:
  HydraSearch(const BatchProblem& problem, std::vector<BatchQueue> queues)
      : problem_(problem), queues_(std::move(queues)), where_(problem.jobs.size()) {
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      costs_.push_back(cost_of(queues_[q].type, queues_[q].jobs));
      for (const int job : queues_[q].jobs) where_[static_cast<std::size_t>(job)] = q;
    }
  }

  // Whether anything became better.
  bool round() {
    bool better = false;
    for (const int job : late_first()) {
      better = relocate(job) || better;
      better = exchange(job) || better;
    }
    return better;
  }

  std::vector<BatchQueue> take() && { return std::move(queues_); }

 private:
  const BatchJob& job_at(int job) const { return problem_.jobs[static_cast<std::size_t>(job)]; }
  double runtime(int type, int job) const { return job_at(job).runtime_s[static_cast<std::size_t>(type)]; }

  Cost cost_of(int type, const std::vector<int>& order) const {
    Cost cost;
    double at = 0;
    for (const int job : order) {
      at += runtime(type, job);
      cost.total += at;
      cost.overrun += std::max(0.0, at - job_at(job).deadline_s);
    }
    return cost;
  }

  std::vector<int> late_first() const {
    std::vector<int> late, others;
    for (const BatchQueue& queue : queues_) {
      double at = 0;
      for (const int job : queue.jobs) {
        at += runtime(queue.type, job);
        (at > job_at(job).deadline_s ? late : others).push_back(job);
      }
    }
    late.insert(late.end(), others.begin(), others.end());
    return late;
  }

  struct Insertion {
    Cost cost{kNoDeadline, kNoDeadline};
    std::size_t place = 0;
  };

  // The best place of `job` in an order it is not part of. One pass with the job pushed on from place to place.
  Insertion best_insertion(int type, const std::vector<int>& order, int job) const {
    const double length = runtime(type, job);
    if (!std::isfinite(length)) return {};
    // Costs of all jobs from a place on, when they start `length` later.
    const std::size_t count = order.size();
    behind_.assign(count + 1, Cost{});
    double end = 0;
    for (const int other : order) end += runtime(type, other);
    for (std::size_t i = count; i-- > 0;) {
      const Cost shifted{std::max(0.0, end + length - job_at(order[i]).deadline_s), end + length};
      behind_[i] = behind_[i + 1] + shifted;
      end -= runtime(type, order[i]);
    }
    Insertion best;
    Cost before;
    double at = 0;
    for (std::size_t i = 0; i <= count; ++i) {
      const Cost own{std::max(0.0, at + length - job_at(job).deadline_s), at + length};
      const Cost cost = before + own + behind_[i];
      if (cost.below(best.cost)) best = {cost, i};
      if (i == count) break;
      at += runtime(type, order[i]);
      before = before + Cost{std::max(0.0, at - job_at(order[i]).deadline_s), at};
    }
    return best;
  }

  static std::vector<int> without(const std::vector<int>& order, int job) {
    std::vector<int> result = order;
    result.erase(std::find(result.begin(), result.end(), job));
    return result;
  }

  void put(std::size_t queue, std::vector<int> order, std::size_t place, int job, const Cost& cost) {
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(place), job);
    queues_[queue].jobs = std::move(order);
    where_[static_cast<std::size_t>(job)] = queue;
    costs_[queue] = cost;
  }

  bool relocate(int job) {
    const std::size_t from = where_[static_cast<std::size_t>(job)];
    const std::vector<int> rest = without(queues_[from].jobs, job);
    const Cost rest_cost = cost_of(queues_[from].type, rest);
    std::size_t best_queue = from;
    Insertion best = best_insertion(queues_[from].type, rest, job);
    // By how much the two queues together would cost less than now; of equal ones the first.
    Cost best_change{best.cost.overrun - costs_[from].overrun, best.cost.total - costs_[from].total};
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (q == from) continue;
      const Insertion there = best_insertion(queues_[q].type, queues_[q].jobs, job);
      const Cost change{there.cost.overrun + rest_cost.overrun - costs_[q].overrun - costs_[from].overrun,
                        there.cost.total + rest_cost.total - costs_[q].total - costs_[from].total};
      if (!change.below(best_change)) continue;
      best_change = change;
      best = there;
      best_queue = q;
    }
    if (!best_change.below({0, 0})) return false;
    if (best_queue == from) {
      put(from, rest, best.place, job, best.cost);
      return true;
    }
    queues_[from].jobs = rest;
    costs_[from] = rest_cost;
    put(best_queue, queues_[best_queue].jobs, best.place, job, best.cost);
    return true;
  }

  bool exchange(int job) {
    const std::size_t from = where_[static_cast<std::size_t>(job)];
    const std::vector<int> rest = without(queues_[from].jobs, job);
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      if (q == from) continue;
      const Cost now = costs_[from] + costs_[q];
      for (const int other : std::vector<int>(queues_[q].jobs)) {
        const std::vector<int> other_rest = without(queues_[q].jobs, other);
        const Insertion here = best_insertion(queues_[from].type, rest, other);
        const Insertion there = best_insertion(queues_[q].type, other_rest, job);
        if (!(here.cost + there.cost).below(now)) continue;
        put(from, rest, here.place, other, here.cost);
        put(q, other_rest, there.place, job, there.cost);
        return true;
      }
    }
    return false;
  }

  const BatchProblem& problem_;
  std::vector<BatchQueue> queues_;
  std::vector<Cost> costs_;           // by queue
  std::vector<std::size_t> where_;    // by job: its queue
  mutable std::vector<Cost> behind_;  // of best_insertion
};

}  // namespace

Result<std::vector<BatchQueue>> plan_hydra(const BatchProblem& problem, const HydraOptions& options) {
  ORRERY_TRY(std::vector<BatchQueue> queues, solve_allox(problem));
  HydraSearch search(problem, std::move(queues));
  for (int round = 0; round < options.rounds_max && search.round(); ++round) continue;
  return std::move(search).take();
}

}  // namespace orrery::schedule
