#pragma once
// A value for each job, by its number. Numbers only grow and none is used twice, so a table that kept every job would
// grow for ever; this one drops the values of jobs that are forgotten.
//
// Values stand in one vector, in the order of numbers, from first() on. When three quarters of the jobs at its front
// are forgotten, the front is cut off, and what is left of it moves to a map. So memory is within a constant factor of
// the jobs that are not forgotten, however long the oldest of them lives; and a look-up is one comparison more than in a
// vector. Amortised O(1) per job.

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "schedule/job_time.h"

namespace orrery::schedule {

template <class T>
class JobTable {
 public:
  // What jobs have that are new, and what is read of those that are forgotten.
  explicit JobTable(T blank = T{}) : blank_(std::move(blank)) {}

  T& operator[](JobIndex job) { return job >= first_ ? recent_[at(job)] : older(job); }
  const T& operator[](JobIndex job) const { return job >= first_ ? recent_[at(job)] : older(job); }

  // Of the vector; older jobs have a value only if they got one.
  JobIndex first() const { return first_; }
  // One more than the last job.
  JobIndex end() const { return JobIndex(first_.place() + recent_.size()); }
  // Values that take memory.
  std::size_t stored() const { return recent_.size() + older_.size(); }

  void reserve(std::size_t jobs) { recent_.reserve(jobs); }
  void push_back(T&& value) { recent_.push_back(std::move(value)); }
  void push_back(const T& value) { recent_.push_back(value); }
  // Jobs before `end` have a value. A table that is empty begins at `first`.
  void cover(JobIndex first, JobIndex end) {
    if (recent_.empty() && first_ < first) first_ = first;
    while (this->end() < end) recent_.push_back(blank_);
  }
  // All that it covers are blank again.
  void clear() {
    std::fill(recent_.begin(), recent_.end(), blank_);
    older_.clear();
  }

  // Jobs that are not forgotten, in the order of their numbers, of those that have a value.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& [job, value] : older_) visit(job);
    for (JobIndex job = first_; job < end(); ++job) {
      if (!is_forgotten(job)) visit(job);
    }
  }

  void forget(JobIndex job) {
    if (job >= end()) return;
    if (job < first_) {
      older_.erase(job);
      return;
    }
    recent_[at(job)] = blank_;
    forgotten_.resize(std::max(forgotten_.size(), at(job) + 1));
    forgotten_[at(job)] = true;
    if (++since_cut_ >= kCutMin && since_cut_ >= recent_.size() / 4) cut();
  }

 private:
  static constexpr std::size_t kCutMin = 256;

  std::size_t at(JobIndex job) const { return static_cast<std::size_t>(job - first_); }
  // Out of line: look-ups are everywhere, and hardly any is of an older job.
  [[gnu::noinline, gnu::cold]] T& older(JobIndex job) { return older_.try_emplace(job, blank_).first->second; }
  [[gnu::noinline, gnu::cold]] const T& older(JobIndex job) const {
    const auto found = older_.find(job);
    return found == older_.end() ? blank_ : found->second;
  }
  bool is_forgotten(JobIndex job) const { return at(job) < forgotten_.size() && forgotten_[at(job)]; }

  // The longest front of which at most a quarter is kept.
  void cut() {
    since_cut_ = 0;
    std::size_t kept = 0, length = 0;
    for (std::size_t i = 0; i < forgotten_.size(); ++i) {
      kept += forgotten_[i] ? 0 : 1;
      if (4 * kept <= i + 1) length = i + 1;
    }
    for (std::size_t i = 0; i < length; ++i) {
      if (!forgotten_[i]) older_.emplace(JobIndex(first_.place() + i), std::move(recent_[i]));
    }
    const auto front = static_cast<std::ptrdiff_t>(length);
    recent_.erase(recent_.begin(), recent_.begin() + front);
    forgotten_.erase(forgotten_.begin(), forgotten_.begin() + front);
    first_ = JobIndex(first_.place() + length);
    if (recent_.capacity() > 4 * recent_.size()) recent_.shrink_to_fit();
  }

  T blank_;
  JobIndex first_{0};
  std::vector<T> recent_;
  std::map<JobIndex, T> older_;
  std::vector<bool> forgotten_;  // of recent_; may be shorter
  std::size_t since_cut_ = 0;    // jobs forgotten since the last cut
};

}  // namespace orrery::schedule
