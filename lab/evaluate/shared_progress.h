#pragma once
// The progress of several trainings at once as one number of steps. Thread-safe.

#include <cstdint>
#include <functional>
#include <mutex>

#include "lab/lab.h"

namespace orrery::lab {

class SharedProgress {
 public:
  using Report = std::function<void(std::uint64_t done, std::uint64_t total)>;

  // Reports to `report` (which may be empty) out of any thread, one call at a time.
  SharedProgress(Report report, std::uint64_t total) : report_(std::move(report)), total_(total) {}
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;

  // To be called with the number of steps one training has done; used by one thread. Steps before the first call, of an
  // earlier part of the training, count too.
  std::function<void(std::uint64_t steps)> part() {
    return [this, known = std::uint64_t{0}](std::uint64_t steps) mutable {
      const std::lock_guard lock(mutex_);
      done_ += steps - known;
      known = steps;
      if (report_) report_(done_, total_);
    };
  }

 private:
  std::mutex mutex_;
  Report report_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
};

}  // namespace orrery::lab
