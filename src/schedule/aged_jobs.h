#pragma once
// Jobs that have waited too long: each leaves the policy and gets the next GPUs that become free.
//
// 1. Aged jobs are in the order in which they became so.
// 2. The first keeps free GPUs as they come (of one type of device, where types differ: of those that have enough GPUs
//    the one with most of them free when it became the first; of equal ones its fastest). The policy does not see them
//    any more.
// 3. When it has enough it starts, and runs to its end. Then the GPUs are the policy's again.
// So no job waits for ever, under any policy.

#include <algorithm>
#include <deque>
#include <optional>

#include "schedule/cluster_ledger.h"
#include "schedule/placement/placer.h"

namespace orrery::schedule {

class AgedJobs {
 public:
  // The ledger is borrowed, with all its machines up and free.
  explicit AgedJobs(ClusterLedger& ledger);

  bool empty() const { return waiting_.empty(); }
  bool has(JobIndex job) const { return std::find(waiting_.begin(), waiting_.end(), job) != waiting_.end(); }
  void add(JobIndex job) { waiting_.push_back(job); }
  // The first goes first.
  const std::deque<JobIndex>& waiting() const { return waiting_; }
  // A job that had started and lost its GPUs is before all others again.
  void add_first(JobIndex job);
  // A job that shall not run any more; whether it was here. What was kept for it is given back.
  bool remove(JobIndex job);
  // A machine is about to fail: the GPUs that were kept there are given back.
  void lose(MachineIndex machine);

  struct Ready {
    JobIndex job = kNoJob;
    Allocation allocation{};  // withheld
  };
  // Keeps free GPUs for the first job; returns the job when they are enough.
  std::optional<Ready> next();

 private:
  void give_back();

  ClusterLedger& ledger_;
  std::unique_ptr<Placer> placer_;
  std::deque<JobIndex> waiting_;
  Allocation kept_;         // for the first
  std::int32_t type_ = -1;  // of the devices it waits for; -1: not chosen, or any
  std::vector<int> gpus_of_type_;
};

}  // namespace orrery::schedule
