#include "schedule/policies/allox.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace orrery::schedule {

namespace {

// A flow of jobs into slots. Invariant between two calls of insert(): lists_ hold the optimal assignment of the
// inserted jobs, each type sorted by decreasing runtime, and slot k of a type is the k-th run of `machines` jobs of its
// list. A list that is sorted has the best order on its type, so only the distribution over types is searched; places
// inside a type follow from the list.
class AlloxSolver {
 public:
  explicit AlloxSolver(const BatchProblem& problem)
      : problem_(problem), types_(problem.machines.size()), lists_(types_), longer_(types_), runtimes_(types_) {
    for (std::size_t t = 0; t < types_; ++t) {
      for (const BatchJob& job : problem.jobs) runtimes_[t].push_back(job.runtime_s[t]);
      longer_[t].assign(problem.jobs.size(), 0);
    }
    nodes_.resize(types_);
  }

  // One augmentation of successive shortest paths. The residual graph has a node for every slot; a label is the least
  // change of the sum if one more job is in the slot. The new job's flow ends in a slot with a free place, which is the
  // last one of a type. An optimal flow has no residual cycle of negative cost, so the labels are finite, and
  // augmenting along a shortest path keeps the flow optimal.
  void insert(int job) {
    label(job);
    std::size_t best = 0;
    for (std::size_t t = 1; t < types_; ++t) {
      if (nodes_[t].back().cost < nodes_[best].back().cost) best = t;
    }
    augment(job, best);
  }

  std::vector<BatchQueue> queues() const {
    std::vector<BatchQueue> result;
    for (std::size_t t = 0; t < types_; ++t) {
      const auto machines = static_cast<std::size_t>(problem_.machines[t]);
      std::vector<BatchQueue> of_type(machines);
      for (std::size_t m = 0; m < machines; ++m) {
        of_type[m].type = static_cast<int>(t);
        of_type[m].machine = static_cast<int>(m);
      }
      // The list begins with the longest jobs, which run last.
      for (std::size_t rank = lists_[t].size(); rank-- > 0;) of_type[rank % machines].jobs.push_back(lists_[t][rank]);
      result.insert(result.end(), of_type.begin(), of_type.end());
    }
    return result;
  }

 private:
  // A slot, with the cheapest chain that brings one more job into it.
  struct Node {
    double cost = 0;
    int from_type = -1;  // -1: the new job enters here
    int from_slot = -1;
    int job = -1;  // moved from there; -1: the shortest or longest of the slot
  };

  double runtime(std::size_t type, int job) const { return runtimes_[type][static_cast<std::size_t>(job)]; }
  int slot_of(std::size_t type, std::size_t rank) const { return static_cast<int>(rank) / problem_.machines[type]; }
  double entry_cost(std::size_t type, int slot, int job) const { return (slot + 1) * runtime(type, job); }

  bool improve(std::size_t type, int slot, const Node& by) {
    Node& node = nodes_[type][static_cast<std::size_t>(slot)];
    // Without a margin, rounding could make a cycle of cost 0 look like an improvement, and label() would not end.
    const double margin = std::isfinite(node.cost) ? 1e-12 * (1 + std::abs(node.cost)) : 0;
    if (!(by.cost < node.cost - margin)) return false;
    node = by;
    return true;
  }

  // `job` enters a type at its place in the order; `way.cost` is the cost of the chain so far. A place between two
  // slots is the end of one and the beginning of the next, so both are tried: the slot then passes its shortest or
  // longest job on.
  bool enter(std::size_t type, int job, Node way) {
    if (!std::isfinite(runtime(type, job))) return false;
    const int place = longer_[type][static_cast<std::size_t>(job)], machines = problem_.machines[type];
    const int slot = place / machines;
    const double before = way.cost;
    way.cost = before + entry_cost(type, slot, job);
    bool better = improve(type, slot, way);
    if (place % machines == 0 && slot > 0) {
      way.cost = before + entry_cost(type, slot - 1, job);
      better = improve(type, slot - 1, way) || better;
    }
    return better;
  }

  // The cheapest chain into every slot. Bellman-Ford: arcs inside a type are relaxed in two sweeps, which is enough
  // because they connect neighbouring slots only; arcs between types are relaxed until nothing changes.
  void label(int job) {
    for (std::size_t t = 0; t < types_; ++t) {
      nodes_[t].assign(static_cast<std::size_t>(slot_of(t, lists_[t].size())) + 1, Node{kNoDeadline, -1, -1, -1});
      enter(t, job, {0, -1, -1, job});
    }
    bool changed = true;
    while (changed) {
      for (std::size_t t = 0; t < types_; ++t) hand_on(t);
      changed = false;
      for (std::size_t t = 0; t < types_; ++t) changed = change_type(t) || changed;
    }
  }

  // Arcs inside a type. Passing the shortest job of a slot to the slot behind adds its runtime once (k grows by 1);
  // passing the longest to the slot before saves it once.
  void hand_on(std::size_t t) {
    const std::vector<int>& list = lists_[t];
    const auto machines = static_cast<std::size_t>(problem_.machines[t]);
    const int slots = static_cast<int>(nodes_[t].size());
    for (int s = 0; s + 1 < slots; ++s) {
      const int shortest = list[(static_cast<std::size_t>(s) + 1) * machines - 1];
      improve(t, s + 1, {nodes_[t][static_cast<std::size_t>(s)].cost + runtime(t, shortest), static_cast<int>(t), s});
    }
    for (int s = slots - 1; s > 0; --s) {
      const std::size_t first = static_cast<std::size_t>(s) * machines;
      if (first >= list.size()) continue;
      improve(t, s - 1,
              {nodes_[t][static_cast<std::size_t>(s)].cost - runtime(t, list[first]), static_cast<int>(t), s});
    }
  }

  // Arcs between types: any job may leave its slot for its place on another type. Its slot then has an extra job and
  // one less, so its label without the job's own cost is the cost so far.
  bool change_type(std::size_t t) {
    bool changed = false;
    const std::vector<int>& list = lists_[t];
    for (std::size_t rank = 0; rank < list.size(); ++rank) {
      const int slot = slot_of(t, rank);
      const int job = list[rank];
      const double without = nodes_[t][static_cast<std::size_t>(slot)].cost - entry_cost(t, slot, job);
      if (without == kNoDeadline) continue;
      for (std::size_t other = 0; other < types_; ++other) {
        if (other == t) continue;
        changed = enter(other, job, {without, static_cast<int>(t), slot, job}) || changed;
      }
    }
    return changed;
  }

  void augment(int job, std::size_t type) {
    // From the end of the chain back to the new job. Moves inside a type need no action, because the sorted lists imply
    // them. All moves are found before any is made, because the labels refer to the lists as they are.
    struct Move {
      int job;
      std::size_t from, to;
    };
    std::vector<Move> moves;
    std::size_t at = type;
    int slot = static_cast<int>(nodes_[type].size()) - 1;
    for (std::size_t steps = 0;; ++steps) {
      // A shortest path visits a slot at most once; the check guards against a cycle by rounding.
      ORRERY_CHECK(steps < 4 * problem_.jobs.size() + 64);
      const Node& node = nodes_[at][static_cast<std::size_t>(slot)];
      if (node.from_type < 0) break;
      const auto from = static_cast<std::size_t>(node.from_type);
      if (node.job >= 0) moves.push_back({node.job, from, at});
      at = from;
      slot = node.from_slot;
    }
    for (const Move& move : moves) take_out(move.from, move.job);
    for (const Move& move : moves) put_in(move.to, move.job);
    put_in(at, job);
  }

  void put_in(std::size_t t, int job) {
    std::vector<int>& list = lists_[t];
    const auto before = [&](int a, int b) {
      return runtime(t, a) != runtime(t, b) ? runtime(t, a) > runtime(t, b) : a < b;
    };
    list.insert(std::lower_bound(list.begin(), list.end(), job, before), job);
    count(t, job, +1);
  }

  void take_out(std::size_t t, int job) {
    lists_[t].erase(std::find(lists_[t].begin(), lists_[t].end(), job));
    count(t, job, -1);
  }

  // A job of this runtime came to the type or left it: the places of all shorter jobs there change.
  void count(std::size_t t, int job, int change) {
    const double added = runtime(t, job);
    const double* const runtimes = runtimes_[t].data();
    int* const longer = longer_[t].data();
    for (std::size_t j = 0; j < problem_.jobs.size(); ++j) longer[j] += added > runtimes[j] ? change : 0;
  }

  const BatchProblem& problem_;
  std::size_t types_;
  std::vector<std::vector<int>> lists_;        // by type, longest first
  std::vector<std::vector<int>> longer_;       // by type and job: how many on the type are longer
  std::vector<std::vector<double>> runtimes_;  // by type and job
  std::vector<std::vector<Node>> nodes_;       // by type and slot; the last slot has a free place
};

}  // namespace

Result<std::vector<BatchQueue>> solve_allox(const BatchProblem& problem) {
  ORRERY_TRY_VOID(validate(problem));
  AlloxSolver solver(problem);
  for (std::size_t j = 0; j < problem.jobs.size(); ++j) solver.insert(static_cast<int>(j));
  return solver.queues();
}

}  // namespace orrery::schedule
