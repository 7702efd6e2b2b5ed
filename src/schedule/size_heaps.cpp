#include "schedule/size_heaps.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.h"

namespace orrery::schedule {

std::size_t SizeHeaps::place_of(int gpus) const {
  std::size_t place = 0;
  while (place < heaps_.size() && heaps_[place].gpus < gpus) ++place;
  return place;
}

void SizeHeaps::push(int gpus, const OrderKey& key) {
  const std::size_t place = place_of(gpus);
  if (place == heaps_.size() || heaps_[place].gpus != gpus) {
    heaps_.insert(heaps_.begin() + static_cast<std::ptrdiff_t>(place), Heap{gpus, {}});
  }
  std::vector<OrderKey>& keys = heaps_[place].keys;
  keys.push_back(key);
  std::push_heap(keys.begin(), keys.end(), std::greater<>());
  ++count_;
}

const OrderKey& SizeHeaps::top(int gpus) const {
  const std::size_t place = place_of(gpus);
  ORRERY_CHECK(place < heaps_.size() && heaps_[place].gpus == gpus && !heaps_[place].empty());
  return heaps_[place].top();
}

void SizeHeaps::pop(int gpus) {
  const std::size_t place = place_of(gpus);
  ORRERY_CHECK(place < heaps_.size() && heaps_[place].gpus == gpus && !heaps_[place].empty());
  std::vector<OrderKey>& keys = heaps_[place].keys;
  std::pop_heap(keys.begin(), keys.end(), std::greater<>());
  keys.pop_back();
  --count_;
}

void SizeHeaps::remove(int gpus, JobIndex job) {
  const std::size_t place = place_of(gpus);
  if (place >= heaps_.size() || heaps_[place].gpus != gpus) return;
  std::vector<OrderKey>& keys = heaps_[place].keys;
  const std::size_t removed = std::erase_if(keys, [&](const OrderKey& key) { return key.job == job; });
  if (removed == 0) return;
  std::make_heap(keys.begin(), keys.end(), std::greater<>());
  count_ -= removed;
}

int SizeHeaps::smallest() const {
  for (const Heap& heap : heaps_) {
    if (!heap.empty()) return heap.gpus;
  }
  return std::numeric_limits<int>::max();
}

void SizeHeaps::exchange(StateArchive& state) {
  std::vector<OrderKey> keys;
  for (const Heap& heap : heaps_) keys.insert(keys.end(), heap.keys.begin(), heap.keys.end());
  state(keys);
  if (!state.is_reading()) return;
  heaps_.clear();
  count_ = 0;
  std::vector<JobIndex> jobs;
  for (const OrderKey& key : keys) {
    jobs.push_back(key.job);
    push(state.view().facts(key.job).gpus, key);
  }
  state.expect_waiting(jobs);
}

const OrderKey* SizeHeaps::first(int gpus_max) const {
  const OrderKey* best = nullptr;
  for (const Heap& heap : heaps_) {
    if (heap.gpus > gpus_max) break;
    if (heap.empty()) continue;
    if (best == nullptr || heap.top() < *best) best = &heap.top();
  }
  return best;
}

}  // namespace orrery::schedule
