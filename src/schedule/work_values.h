#pragma once
// What a second of work is worth: by how much the sum of completion times falls if a job has one unit of work less.
//
// Jobs share GPUs; on k of them job j works at a speed s_j(k) that grows ever slower (concave, s_j(0) = 0). Let jobs
// end in a known order, and let no job come later. In the best plan every job has one value v_j, the same until it
// ends, and at each moment GPUs go where they add most to the sum of v_j s_j(k_j): stationarity of the convex program
//   min sum of (jobs still there) x (length of the phase)   with   work done by j over all phases = its work
// says that in each phase with the set A of jobs left,  max over shares of  sum over A of v_j s_j(k_j) = |A|.
// That gives the values one by one, from the last to end to the first:
//   v = min over k of (|A| - F(gpus - k)) / s(k),   F(c): the largest sum the jobs after it make with c GPUs.
// With one GPU it is shortest first; with s(k) = k^p it is heSRPT (Berg, Vesilo, Harchol-Balter 2020).
// A job may count for more than one (`weight`): |A| is then the sum of weights. O(jobs x GPUs).

#include <algorithm>
#include <span>
#include <vector>

namespace orrery::schedule {

// Speeds on 1, 2, ... GPUs, made concave from above and cut where more GPUs do not help.
class Speedup {
 public:
  explicit Speedup(std::vector<double> speeds);

  int most() const { return static_cast<int>(speeds_.size()) - 1; }
  // More GPUs than most() give the speed of most(): a job may hold more than are known to help it now.
  double at(int gpus) const { return speeds_[static_cast<std::size_t>(std::min(gpus, most()))]; }
  double gain(int gpus) const { return at(gpus) - at(gpus - 1); }  // of the last of them

 private:
  std::vector<double> speeds_;  // by GPUs, from 0 on
};

struct ValuedJob {
  const Speedup* speedup = nullptr;
  double weight = 1;
};

// In the order of `jobs`, which is that of their ends.
std::vector<double> work_values(std::span<const ValuedJob> jobs, int gpus);

}  // namespace orrery::schedule
