#pragma once
// Machines that can be rented, as a cluster that policies and engines understand (schedule/cluster_view.h).
//
// The cluster has every machine that could be open: of each VM type as many as its limit and the number of nodes allow.
// MachineView::device is the VM type. A machine is rented while it holds a job; the policy ensures that no more than
// Market::nodes are.

#include <vector>

#include "plan/instance.h"
#include "plan/plan.h"
#include "schedule/policy.h"

namespace orrery::plan {

struct Market {
  int nodes = 1;  // that may be open at once
  std::vector<VmType> vm_types;
  std::vector<Quota> quotas{};
};

// Jobs as a view of the cluster numbers them, with their times from the start.
using MarketJobs = IndexedVector<schedule::JobIndex, Job>;

schedule::Machines machines_of(const Market& market);

// The shortest time a job can take: what its work is measured in (JobFacts::work_ns). 0 if it cannot run at all.
double shortest_s(const Market& market, const Job& job);

// The jobs there are at one event, as an instance to plan for, and what runs already.
struct Situation {
  Instance instance;
  std::vector<schedule::JobIndex> jobs;  // by job of the instance
  Plan current;
  std::vector<schedule::MachineIndex> where;                 // of each of current.nodes
  IndexedVector<schedule::MachineIndex, std::size_t> vm_of;  // its VM type; kNoVm if it is not there
};
inline constexpr std::size_t kNoVm = static_cast<std::size_t>(-1);

// Follows events and keeps the jobs that have come and not ended.
class ClusterAdapter {
 public:
  virtual ~ClusterAdapter() = default;

  void hear(const schedule::Event& event);
  void exchange(schedule::StateArchive& state);
  void adopt(const schedule::ClusterView& view) { there_ = schedule::own_jobs(view); }
  // Starts what plans cannot; before look().
  virtual void start_first(const schedule::ClusterView&, std::vector<schedule::Decision>&) {}
  // Times are the remaining ones; constants are those of `how`.
  virtual Situation look(const schedule::ClusterView& view, const Instance& how) const = 0;

 protected:
  const std::vector<schedule::JobIndex>& there() const { return there_; }

 private:
  std::vector<schedule::JobIndex> there_;  // ascending
};

// Of rented machines. Both arguments are borrowed; times of `jobs` are predicted ones.
class MarketAdapter final : public ClusterAdapter {
 public:
  MarketAdapter(const Market& market, const MarketJobs& jobs) : market_(market), jobs_(jobs) {}

  Situation look(const schedule::ClusterView& view, const Instance& how) const override;

 private:
  const Market& market_;
  const MarketJobs& jobs_;
};

// Puts the last job of the instance, which runs, where it is.
void add_running(Situation& situation, const schedule::Slice& held);

// The decisions that turn the current state into `plan`. A node of the plan takes the machine of its type that has most
// of its jobs already, so that no job moves without need. Appends suspensions first.
void carry_out(const schedule::ClusterView& view, const Situation& situation, const Plan& plan,
               std::vector<schedule::Decision>& decisions);

}  // namespace orrery::plan
