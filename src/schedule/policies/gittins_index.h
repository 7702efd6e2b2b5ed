#pragma once
// The Gittins index of a job that has attained some service, from a sample of how much service past jobs needed.
//
// With the sorted sample D of n values and a quantum q, for attained service a: i = number of D <= a,
// k = number of D <= a + q (n - 1 if a + q > max - 1),
//   P = (k - i) / (n - i)                              it ends within the quantum
//   E = (sum D[i .. k-1] + q (n - k)) / (n - i)        expected time spent in it
//   rank = 1e6 P / E
// P and E are rounded to 5 digits and the rank to 4, as in the published simulator; a > max gives 0. Ranks are
// tabulated at one below every sample value and looked up at the first value above a.

#include <span>
#include <vector>

#include "base/result.h"

namespace orrery::schedule {

class GittinsIndex {
 public:
  // Values are GPU-seconds, at least two, none negative.
  static Result<GittinsIndex> make(std::span<const double> sample_gpu_s, double quantum_gpu_s);

  double rank(double attained_gpu_s) const;

 private:
  std::vector<double> sample_;
  std::vector<double> ranks_;
};

}  // namespace orrery::schedule
