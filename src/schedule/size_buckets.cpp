#include "schedule/size_buckets.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::schedule {

void SizeBuckets::insert(int gpus, const OrderKey& key) {
  auto at = std::lower_bound(buckets_.begin(), buckets_.end(), gpus,
                             [](const Bucket& bucket, int wanted) { return bucket.gpus < wanted; });
  if (at == buckets_.end() || at->gpus != gpus) at = buckets_.insert(at, Bucket{gpus, {}});
  at->jobs.insert(key);
  ++count_;
}

void SizeBuckets::erase(int gpus, const OrderKey& key) {
  const auto at = std::lower_bound(buckets_.begin(), buckets_.end(), gpus,
                                   [](const Bucket& bucket, int wanted) { return bucket.gpus < wanted; });
  ORRERY_CHECK(at != buckets_.end() && at->gpus == gpus);
  ORRERY_CHECK(at->jobs.erase(key) == 1);
  --count_;
}

int SizeBuckets::smallest() const {
  for (const Bucket& bucket : buckets_) {
    if (!bucket.jobs.empty()) return bucket.gpus;
  }
  return std::numeric_limits<int>::max();
}

const OrderKey* SizeBuckets::first(int gpus_max) const {
  const OrderKey* best = nullptr;
  for (const Bucket& bucket : buckets_) {
    if (bucket.gpus > gpus_max) break;
    if (bucket.jobs.empty()) continue;
    const OrderKey& head = *bucket.jobs.begin();
    if (best == nullptr || head < *best) best = &head;
  }
  return best;
}

}  // namespace orrery::schedule
