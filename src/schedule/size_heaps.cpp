#include "schedule/size_heaps.h"

#include <algorithm>
#include <functional>

#include "base/check.h"

namespace orrery::schedule {

std::size_t SizeHeaps::find(JobKind kind) const {
  std::size_t place = 0;
  while (place < heaps_.size() && heaps_[place].kind < kind) ++place;
  return place;
}

void SizeHeaps::push(JobKind kind, const OrderKey& key) {
  const std::size_t place = find(kind);
  if (place == heaps_.size() || heaps_[place].kind != kind) {
    heaps_.insert(heaps_.begin() + static_cast<std::ptrdiff_t>(place), Heap{kind, {}});
  }
  std::vector<OrderKey>& keys = heaps_[place].keys;
  keys.push_back(key);
  std::push_heap(keys.begin(), keys.end(), std::greater<>());
  ++count_;
}

template <class IsOpen>
const SizeHeaps::Heap* SizeHeaps::first_of(int gpus_max, IsOpen is_open) const {
  const Heap* best = nullptr;
  std::int64_t best_value = 0;
  std::size_t place = 0;
  for (const Heap& heap : heaps_) {
    if (heap.kind.gpus > gpus_max) break;
    if (!is_open(place++) || heap.empty()) continue;
    // Values mostly differ, so the rest is rarely compared.
    const std::int64_t value = heap.top().value;
    if (best != nullptr && (value > best_value || (value == best_value && !(heap.top() < best->top())))) continue;
    best = &heap;
    best_value = value;
  }
  return best;
}

const OrderKey& SizeHeaps::top(JobKind kind) const {
  const std::size_t place = find(kind);
  ORRERY_CHECK(place < heaps_.size() && heaps_[place].kind == kind && !heaps_[place].empty());
  return heaps_[place].top();
}

void SizeHeaps::pop(const Heap& heap) {
  std::vector<OrderKey>& keys = heaps_[place_of(heap)].keys;
  ORRERY_CHECK(!keys.empty());
  std::pop_heap(keys.begin(), keys.end(), std::greater<>());
  keys.pop_back();
  --count_;
}

bool SizeHeaps::remove(JobKind kind, JobIndex job) {
  const std::size_t place = find(kind);
  if (place >= heaps_.size() || heaps_[place].kind != kind) return false;
  std::vector<OrderKey>& keys = heaps_[place].keys;
  const std::size_t removed = std::erase_if(keys, [&](const OrderKey& key) { return key.job == job; });
  if (removed == 0) return false;
  std::make_heap(keys.begin(), keys.end(), std::greater<>());
  count_ -= removed;
  return true;
}

int SizeHeaps::smallest() const {
  for (const Heap& heap : heaps_) {
    if (!heap.empty()) return heap.kind.gpus;
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
    push(kind_of(state.view(), key.job), key);
  }
  state.expect_waiting(jobs);
}

const SizeHeaps::Heap* SizeHeaps::first(int gpus_max) const {
  return first_of(gpus_max, [](std::size_t) { return true; });
}

const SizeHeaps::Heap* SizeHeaps::first_open(const Closed& closed, int gpus_max) const {
  return first_of(gpus_max, [&](std::size_t place) { return closed[place] == 0; });
}

}  // namespace orrery::schedule
