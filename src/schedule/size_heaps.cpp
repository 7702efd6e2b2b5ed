#include "schedule/size_heaps.h"

#include <algorithm>
#include <functional>
#include <limits>

#include "base/check.h"

namespace orrery::schedule {

std::vector<SizeHeaps::Heap>::iterator SizeHeaps::find(int gpus) {
  return std::lower_bound(heaps_.begin(), heaps_.end(), gpus,
                          [](const Heap& heap, int wanted) { return heap.gpus < wanted; });
}

void SizeHeaps::push(int gpus, const OrderKey& key) {
  auto heap = find(gpus);
  if (heap == heaps_.end() || heap->gpus != gpus) heap = heaps_.insert(heap, Heap{gpus, {}});
  heap->keys.push_back(key);
  std::push_heap(heap->keys.begin(), heap->keys.end(), std::greater<>());
  ++count_;
}

void SizeHeaps::pop(int gpus) {
  const auto heap = find(gpus);
  ORRERY_CHECK(heap != heaps_.end() && heap->gpus == gpus && !heap->empty());
  std::pop_heap(heap->keys.begin(), heap->keys.end(), std::greater<>());
  heap->keys.pop_back();
  --count_;
}

int SizeHeaps::smallest() const {
  for (const Heap& heap : heaps_) {
    if (!heap.empty()) return heap.gpus;
  }
  return std::numeric_limits<int>::max();
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
