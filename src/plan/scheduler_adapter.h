#pragma once
// The machines and jobs of a cluster as instances to plan for, so that the policy "milp" (milp_policy.h) runs wherever
// the other policies do.
//
// Machines of a type with as many GPUs are one VM type, of which there are as many as are up. They belong to us and
// cost nothing; what is minimised is tardiness. A job is due at its deadline, one without when it was submitted, so
// that all its time counts; a second costs 1 + its priority, if that is positive. Elastic jobs take any number of GPUs
// up to their most, by the scaling model; others the number they ask for. Jobs that must not be suspended yet are
// pinned.
//
// The merit of a job is its weight, divided by the time left and the GPUs it asks for. Jobs that fit on no single
// machine that is up are not planned: one of more merit than all others that wait starts on any free GPUs, machines
// with most free GPUs first; until there are enough, nothing else is started. It is not suspended. Of the other waiting
// jobs at most `jobs_max` are planned, those of most merit.

#include <map>

#include "plan/market.h"
#include "schedule/scaling_model.h"

namespace orrery::plan {

struct SchedulerAdapterOptions {
  std::size_t jobs_max = 30;  // that wait
  double switch_s = 0;        // lost when a job is started again, moved or resized
};

class SchedulerAdapter final : public ClusterAdapter {
 public:
  // The model is borrowed.
  SchedulerAdapter(const SchedulerAdapterOptions& options, const schedule::ScalingModel& scaling)
      : options_(options), scaling_(scaling) {}

  void start_first(const schedule::ClusterView& view, std::vector<schedule::Decision>& decisions) override;
  Situation look(const schedule::ClusterView& view, const Instance& how) const override;

 private:
  void hold(const schedule::Allocation& allocation);
  bool is_gang(const schedule::ClusterView& view, schedule::JobIndex job) const;
  void add_machines(const schedule::ClusterView& view, Situation& situation) const;
  Job job_of(const schedule::ClusterView& view, schedule::JobIndex job) const;
  std::vector<schedule::JobIndex> looked_at(const schedule::ClusterView& view) const;

  SchedulerAdapterOptions options_;
  const schedule::ScalingModel& scaling_;
  std::map<schedule::MachineIndex, int> of_gangs_;  // GPUs by machine
  bool only_gangs_ = false;                         // it is the turn of a job that does not fit
};

}  // namespace orrery::plan
