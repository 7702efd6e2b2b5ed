#include "schedule/time_queue.h"

#include <algorithm>

namespace orrery::schedule {

void TimeQueue::put(std::size_t place, const Entry& entry) {
  heap_[place] = entry;
  places_[entry.job] = static_cast<std::int32_t>(place);
}

void TimeQueue::sift_up(std::size_t place) {
  const Entry entry = heap_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 2;
    if (!entry.before(heap_[parent])) break;
    put(place, heap_[parent]);
    place = parent;
  }
  put(place, entry);
}

void TimeQueue::sift_down(std::size_t place) {
  const Entry entry = heap_[place];
  while (true) {
    std::size_t child = 2 * place + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) ++child;
    if (!heap_[child].before(entry)) break;
    put(place, heap_[child]);
    place = child;
  }
  put(place, entry);
}

void TimeQueue::set(JobIndex job, TimeNs at_ns) {
  if (job >= places_.end()) {
    places_.cover(job, JobIndex(std::max(job.place() + 1, places_.end().place() + places_.stored())));
  }
  const std::int32_t place = places_[job];
  if (place == kOut) {
    heap_.push_back({at_ns, job});
    sift_up(heap_.size() - 1);
    return;
  }
  const auto at = static_cast<std::size_t>(place);
  heap_[at].at_ns = at_ns;
  sift_up(at);
  sift_down(static_cast<std::size_t>(places_[job]));
}

void TimeQueue::remove(JobIndex job) {
  if (!has(job)) return;
  const std::int32_t place = places_[job];
  places_[job] = kOut;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.job == job) return;
  const auto at = static_cast<std::size_t>(place);
  put(at, last);
  sift_up(at);
  sift_down(static_cast<std::size_t>(places_[last.job]));
}

void TimeQueue::forget(JobIndex job) {
  remove(job);
  places_.forget(job);
}

}  // namespace orrery::schedule
