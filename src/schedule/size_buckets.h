#pragma once
// Waiting jobs by how many GPUs they need, each size in order.
//
// "Walk the order, start what fits, skip what does not" needs only the first job of every size: what is free only
// shrinks during the walk, so when the first of a size does not fit, none behind it does. A walk then costs
// O(started x sizes) instead of O(waiting).

#include <compare>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "schedule/job_time.h"

namespace orrery::schedule {

// A place in an order; smaller goes first. What the fields mean is up to the policy.
struct OrderKey {
  std::int64_t value = 0;
  std::int64_t kind = 0;
  std::int64_t rank = 0;
  std::int64_t first = 0;
  std::int64_t second = 0;
  JobIndex job = kNoJob;

  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

class SizeBuckets {
 public:
  struct Bucket {
    int gpus = 0;
    std::set<OrderKey> jobs;
  };

  void insert(int gpus, const OrderKey& key);
  void erase(int gpus, const OrderKey& key);
  bool empty() const { return count_ == 0; }
  std::size_t size() const { return count_; }
  // Fewest GPUs that any of them needs; INT_MAX without any.
  int smallest() const;
  // The first in order among jobs that need at most `gpus_max`; nullptr without any. Valid until the next change.
  const OrderKey* first(int gpus_max) const;
  // By increasing number of GPUs; some may be empty.
  const std::vector<Bucket>& buckets() const { return buckets_; }

 private:
  std::vector<Bucket> buckets_;  // few: numbers of GPUs are mostly powers of two
  std::size_t count_ = 0;
};

}  // namespace orrery::schedule
