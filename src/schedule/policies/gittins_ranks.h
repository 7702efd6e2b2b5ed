#pragma once
// Gittins ranks from a sample that is given, or from the jobs that have ended so far.
//
// 1. Of the jobs that end, every stride-th gives the service it needed; the stride is 1 at first.
// 2. When there are kSampleMax values, every second is dropped and the stride doubles, so that the sample is spread
//    evenly over all jobs that have ended and stays small.
// 3. The index (gittins_index.h) is computed anew at every kStep-th value. Before the first kStep all ranks are equal.
// A given sample stays as it is. O(kSampleMax log kSampleMax) at every kStep x stride jobs.

#include <optional>
#include <span>
#include <vector>

#include "schedule/policies/gittins_index.h"
#include "schedule/state_archive.h"

namespace orrery::schedule {

class GittinsRanks {
 public:
  // An empty sample: from the jobs that end.
  static Result<GittinsRanks> make(std::span<const double> sample_gpu_s, double quantum_gpu_s);

  double rank(double attained_gpu_s) const { return index_ ? index_->rank(attained_gpu_s) : 0; }
  // The service of a job that has ended; whether ranks changed.
  bool add(double service_gpu_s);
  void exchange(StateArchive& state);

 private:
  static constexpr std::size_t kSampleMax = 200;
  static constexpr std::size_t kStep = 10;

  void compute();

  double quantum_gpu_s_ = 0;
  bool learns_ = false;
  std::vector<double> sample_;  // in the order of the ends; empty if the sample was given
  std::uint64_t stride_ = 1;
  std::uint64_t passed_over_ = 0;  // since the last value
  std::optional<GittinsIndex> index_;
};

}  // namespace orrery::schedule
