#pragma once
// When something is due for a job: a heap with one entry per job, which can be changed or taken out. Policies that
// suspend a lot would leave behind millions of void entries otherwise.

#include <cstdint>
#include <vector>

#include "schedule/job_table.h"

namespace orrery::schedule {

class TimeQueue {
 public:
  bool empty() const { return heap_.empty(); }
  // The earliest; of equal ones the lower job. Precondition: not empty.
  JobIndex job() const { return heap_.front().job; }
  TimeNs at_ns() const { return heap_.front().at_ns; }

  // Adds the job, or changes its time.
  void set(JobIndex job, TimeNs at_ns);
  // Takes it out; fine if it is not in.
  void remove(JobIndex job);
  // It never comes back, and takes no memory any more.
  void forget(JobIndex job);

 private:
  struct Entry {
    TimeNs at_ns = 0;
    JobIndex job{};
    bool before(const Entry& other) const { return at_ns != other.at_ns ? at_ns < other.at_ns : job < other.job; }
  };
  static constexpr std::int32_t kOut = -1;

  bool has(JobIndex job) const { return job < places_.end() && places_[job] != kOut; }
  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    places_[entry.job] = static_cast<std::int32_t>(place);
  }
  // Puts the entry where it belongs, at the hole or above it; below it.
  void put_up(std::size_t hole, Entry entry);
  void put_down(std::size_t hole, Entry entry);
  // What is at the hole is replaced.
  void put_anywhere(std::size_t hole, const Entry& entry);

  std::vector<Entry> heap_;
  JobTable<std::int32_t> places_{kOut};
};

}  // namespace orrery::schedule
