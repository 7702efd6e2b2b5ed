#pragma once
// When running jobs will end: a heap with one entry per job, which can be changed or taken out. Lists that preempt a
// lot would leave behind millions of void entries otherwise.

#include <cstdint>
#include <vector>

#include "schedule/job_time.h"

namespace orrery::simulate {

class EndQueue {
 public:
  explicit EndQueue(std::size_t jobs) : places_(jobs, kOut) {}

  bool empty() const { return heap_.empty(); }
  // The earliest; of equal ones the lower job. Precondition: not empty.
  schedule::JobIndex job() const { return heap_.front().job; }
  schedule::TimeNs at_ns() const { return heap_.front().at_ns; }

  // Adds the job, or changes its time.
  void set(schedule::JobIndex job, schedule::TimeNs at_ns);
  // Takes it out; fine if it is not in.
  void remove(schedule::JobIndex job);

 private:
  struct Entry {
    schedule::TimeNs at_ns = 0;
    schedule::JobIndex job{};
    bool before(const Entry& other) const { return at_ns != other.at_ns ? at_ns < other.at_ns : job < other.job; }
  };
  static constexpr std::int32_t kOut = -1;

  void put(std::size_t place, const Entry& entry);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);

  std::vector<Entry> heap_;
  IndexedVector<schedule::JobIndex, std::int32_t> places_;
};

}  // namespace orrery::simulate
