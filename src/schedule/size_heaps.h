#pragma once
// Waiting jobs by what decides whether they fit, each kind in order.
//
// "Walk the order, start what fits, skip what does not" needs only the first job of every kind: what is free only
// shrinks during the walk, so when the first of a kind does not fit, none behind it does. A walk then costs
// O(started x kinds) instead of O(waiting), and a heap per kind is enough. Where types of devices do not differ, a kind
// is a number of GPUs; otherwise also the types that a job runs on.

#include <compare>
#include <limits>
#include <vector>

#include "schedule/order_key.h"
#include "schedule/state_archive.h"

namespace orrery::schedule {

struct JobKind {
  int gpus = 0;
  std::int32_t fit_class = 0;  // ClusterView::fit_class

  friend auto operator<=>(const JobKind&, const JobKind&) = default;
};

inline JobKind kind_of(const ClusterView& view, JobIndex job) {
  return {view.facts(job).gpus, view.fit_class(job)};
}

class SizeHeaps {
 public:
  struct Heap {
    JobKind kind;
    std::vector<OrderKey> keys;  // the smallest in front

    bool empty() const { return keys.empty(); }
    const OrderKey& top() const { return keys.front(); }
  };

  // Which heaps are left out of a walk, by place in heaps(): 0 or 1.
  using Closed = std::vector<std::uint8_t>;

  void push(JobKind kind, const OrderKey& key);
  // The first job of a kind. Precondition: there is one.
  const OrderKey& top(JobKind kind) const;
  // Takes out the first job of one of heaps(). Precondition: there is one.
  void pop(const Heap& heap);
  // Takes out a job of a kind, at any position; whether it was there. O(jobs of the kind).
  bool remove(JobKind kind, JobIndex job);
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // Fewest GPUs that any of them needs; INT_MAX without any.
  int smallest() const;
  // The kind whose first job is the first in order, among those that need at most `gpus_max` GPUs; nullptr without any.
  // Valid until the next push.
  const Heap* first(int gpus_max) const;
  // The same among those that are not closed.
  const Heap* first_open(const Closed& closed, int gpus_max = std::numeric_limits<int>::max()) const;
  std::size_t place_of(const Heap& heap) const { return static_cast<std::size_t>(&heap - heaps_.data()); }
  // By increasing number of GPUs; some may be empty.
  const std::vector<Heap>& heaps() const { return heaps_; }

  // The keys; the kinds of jobs are those of the view. Refuses jobs that do not wait.
  void exchange(StateArchive& state);

 private:
  template <class IsOpen>
  const Heap* first_of(int gpus_max, IsOpen is_open) const;
  std::size_t find(JobKind kind) const;  // the first place that is not before it

  std::vector<Heap> heaps_;  // few: numbers of GPUs are mostly powers of two
  std::size_t count_ = 0;
};

}  // namespace orrery::schedule
