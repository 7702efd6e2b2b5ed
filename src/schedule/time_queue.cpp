#include "schedule/time_queue.h"

#include <algorithm>
#include <utility>

namespace orrery::schedule {

inline void TimeQueue::put_up(std::size_t hole, Entry entry) {
  while (hole > 0) {
    const std::size_t parent = (hole - 1) / 2;
    if (!entry.before(heap_[parent])) break;
    put(hole, heap_[parent]);
    hole = parent;
  }
  put(hole, entry);
}

// An entry from the end of the heap mostly belongs there again: the hole goes down to the end without a look at the
// entry, which then goes up.
inline void TimeQueue::put_down(std::size_t hole, Entry entry) {
  const std::size_t size = heap_.size();
  std::size_t child = 2 * hole + 2;
  for (; child < size; child = 2 * hole + 2) {
    if (heap_[child - 1].before(heap_[child])) --child;
    put(hole, heap_[child]);
    hole = child;
  }
  if (child == size) {
    put(hole, heap_[child - 1]);
    hole = child - 1;
  }
  put_up(hole, entry);
}

inline void TimeQueue::put_anywhere(std::size_t hole, const Entry& entry) {
  if (hole > 0 && entry.before(heap_[(hole - 1) / 2])) {
    put_up(hole, entry);
  } else {
    put_down(hole, entry);
  }
}

void TimeQueue::set(JobIndex job, TimeNs at_ns) {
  if (job >= places_.end()) {
    places_.cover(job, JobIndex(std::max(job.place() + 1, places_.end().place() + places_.stored())));
  }
  const std::int32_t place = places_[job];
  const Entry entry = {at_ns, job};
  if (place == kOut) {
    heap_.push_back(entry);
    put_up(heap_.size() - 1, entry);
  } else {
    put_anywhere(static_cast<std::size_t>(place), entry);
  }
}

void TimeQueue::remove(JobIndex job) {
  if (!has(job)) return;
  const auto hole = static_cast<std::size_t>(std::exchange(places_[job], kOut));
  const Entry last = heap_.back();
  heap_.pop_back();
  if (hole < heap_.size()) put_anywhere(hole, last);
}

void TimeQueue::forget(JobIndex job) {
  remove(job);
  places_.forget(job);
}

}  // namespace orrery::schedule
