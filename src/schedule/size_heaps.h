#pragma once
// Waiting jobs by how many GPUs they need, each size in order.
//
// "Walk the order, start what fits, skip what does not" needs only the first job of every size: what is free only
// shrinks during the walk, so when the first of a size does not fit, none behind it does. A walk then costs
// O(started x sizes) instead of O(waiting), and a heap per size is enough.

#include <vector>

#include "schedule/order_key.h"
#include "schedule/state_archive.h"

namespace orrery::schedule {

class SizeHeaps {
 public:
  struct Heap {
    int gpus = 0;
    std::vector<OrderKey> keys;  // the smallest in front

    bool empty() const { return keys.empty(); }
    const OrderKey& top() const { return keys.front(); }
  };

  void push(int gpus, const OrderKey& key);
  // The first job of a size. Precondition: there is one.
  const OrderKey& top(int gpus) const;
  // Takes out the first job of a size. Precondition: there is one.
  void pop(int gpus);
  // Takes out a job of a size, at any position; does nothing if it is not there. O(jobs of the size).
  void remove(int gpus, JobIndex job);
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // Fewest GPUs that any of them needs; INT_MAX without any.
  int smallest() const;
  // The first in order among jobs that need at most `gpus_max`; nullptr without any. Valid until the next change.
  const OrderKey* first(int gpus_max) const;
  // By increasing number of GPUs; some may be empty.
  const std::vector<Heap>& heaps() const { return heaps_; }

  // The keys; the sizes of jobs are what they ask for. Refuses jobs that do not wait.
  void exchange(StateArchive& state);

 private:
  std::size_t place_of(int gpus) const;

  std::vector<Heap> heaps_;  // few: numbers of GPUs are mostly powers of two
  std::size_t count_ = 0;
};

}  // namespace orrery::schedule
