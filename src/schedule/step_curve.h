#pragma once
// The time of a training step on different numbers of GPUs, known on some of them.
//
// Between two of them log t is linear in log k: a step that shrinks by the same factor whenever GPUs double, as in
// strong scaling, is met exactly. On fewer than the fewest GPUs it is longer in proportion, as if one GPU did the work
// of several in turn; on more than the most it is no shorter.

#include <map>
#include <memory>

namespace orrery::schedule {

class StepCurve {
 public:
  // By number of GPUs, which are at least 1; times are above 0. Precondition: not empty.
  explicit StepCurve(std::map<int, double> step_s);

  double step_s(int gpus) const;
  // The number of GPUs with the shortest step, of those that are known; of equal ones the fewest.
  int most() const { return most_; }
  const std::map<int, double>& known() const { return known_; }

 private:
  std::map<int, double> known_;
  int most_ = 1;
};

using SharedCurve = std::shared_ptr<const StepCurve>;

// log-log between (k1, t1) and (k2, t2).
double interpolated(int gpus, std::pair<int, double> low, std::pair<int, double> high);

}  // namespace orrery::schedule
