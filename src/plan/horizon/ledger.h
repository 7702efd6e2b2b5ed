#pragma once
// Which parts of machines are used in every period, how many machines they need, and what one part more would cost.
//
// Parts of a VM type and period are packed anew by best fit, largest first, and the count of machines is that of this
// packing; better packings are left to the solver. O(parts · GPUs) for each part size that could be added, kept until
// the period changes.

#include "plan/horizon/problem.h"

namespace orrery::plan::horizon {

// Parts of g GPUs, parts[g − 1] of them, on machines of `gpus`: the parts of each machine. Best fit, largest first.
std::vector<std::vector<int>> packed(const std::vector<int>& parts, int gpus);

class Ledger {
 public:
  // Both are borrowed.
  Ledger(const Problem& problem, const Configurations& configurations);

  void add(std::size_t task, const Start& start) { change(task, start, 1); }
  void remove(std::size_t task, const Start& start) { change(task, start, -1); }

  // The cheapest configuration in which to add a task, and its cost, machines included; kNever if none fits.
  struct Offer {
    Start start;
    double usd = kNever;
  };
  Offer cheapest(std::size_t task) const;

  // Of all machines in all periods.
  double machines_usd() const { return machines_usd_; }
  int machines(std::size_t vm, int period) const { return machines_[problem_->at(vm, period)]; }

 private:
  void change(std::size_t task, const Start& start, int sign);
  void look_again(std::size_t vm, int period);
  bool may_open(std::size_t vm, int period, int more) const;
  double added_usd(int period, const Mode& mode) const;

  const Problem* problem_;
  const Configurations* configurations_;
  std::vector<std::vector<int>> parts_;   // by [VM type · periods + period]: [g − 1] of g GPUs
  std::vector<int> machines_;             // likewise
  std::vector<std::vector<int>> needed_;  // likewise: [g − 1] machines more for one part of g GPUs more
  std::vector<int> open_;                 // by period
  double machines_usd_ = 0;
  std::vector<std::vector<std::size_t>> quotas_of_;  // by VM type
};

}  // namespace orrery::plan::horizon
