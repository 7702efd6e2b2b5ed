#pragma once
// One walk of a list policy over its jobs: those that still fit run.
//
// 1. begin() takes all GPUs. keep() takes away those of a running job that must not be suspended yet.
// 2. visit() is called for jobs in the order of the policy. A running job stays where it is if its type of device has
//    enough GPUs left. Any other job takes the fastest of its types that has enough: it starts, or moves there if it
//    ran elsewhere. A job for which no type has enough waits, or stops if it ran.
// 3. apply() makes the decisions: suspensions in the order of visits, then starts and moves.
// Where types do not differ all devices are of one type, and no job moves. A policy that knows by itself what starts and
// stops there calls start_and_stop() alone.
// Ties: of equally fast types the lower number. O(types) per visit. Source: fifo_perf of Gavel (OSDI 2020) takes the
// fastest free type in the same way.

#include <span>
#include <vector>

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

class OrderWalk {
 public:
  enum class Verdict { kStays, kMoves, kStops, kStarts, kWaits };

  // The view is borrowed until apply().
  void begin(const ClusterView& view);
  // Precondition: it runs, and no job was visited since begin().
  void keep(JobIndex running) { room(view_->type_under(running)) -= view_->facts(running).gpus; }
  // Precondition: it is not kept. All running jobs are visited or kept.
  Verdict visit(JobIndex job) {
    if (view_->is_typed()) return visit_types(job);
    const int gpus = view_->facts(job).gpus;
    const bool runs = view_->is_running(job);
    if (room(0) >= gpus) {
      room(0) -= gpus;
      if (!runs) taking_.push_back({job, 0});
      return runs ? Verdict::kStays : Verdict::kStarts;
    }
    if (runs) stopping_.push_back(job);
    return runs ? Verdict::kStops : Verdict::kWaits;
  }

  // `placer` must always succeed when enough GPUs are free. `reason_of(job)` is why a job starts.
  template <class ReasonOf>
  void apply(Placer& placer, std::vector<Decision>& decisions, ReasonOf reason_of) {
    suspend(decisions);
    for (const Taking& taking : taking_) {
      const bool is_move = view_->is_running(taking.job);
      const Reason reason =
          is_move ? Reason{Why::kFastestType, view_->speed_on(taking.job, taking.type)} : reason_of(taking.job);
      decisions.push_back({.action = is_move ? Action::kMigrate : Action::kStart,
                           .job = taking.job,
                           .allocation = place(placer, taking),
                           .reason = reason});
    }
  }

  template <class ReasonOf>
  void start_and_stop(const ClusterView& view, std::span<const JobIndex> starting, std::span<const JobIndex> stopping,
                      Placer& placer, std::vector<Decision>& decisions, ReasonOf reason_of) {
    free_.assign(view);
    for (const JobIndex job : stopping) {
      free_.give(view.progress(job).allocation);
      decisions.push_back({.action = Action::kSuspend, .job = job, .reason = {Why::kOvertaken}});
    }
    for (const JobIndex job : starting) {
      decisions.push_back({.job = job,
                           .allocation = take_gpus(placer, view, free_, job, view.facts(job).gpus),
                           .reason = reason_of(job)});
    }
  }

 private:
  struct Taking {
    JobIndex job = kNoJob;
    std::int32_t type = 0;
  };

  Verdict visit_types(JobIndex job);
  int& room(std::int32_t type) { return rooms_[static_cast<std::size_t>(type)]; }
  // Of those that have enough GPUs left; -1: none has.
  std::int32_t fastest_type(JobIndex job);
  // Releases the GPUs of jobs that stop or move.
  void suspend(std::vector<Decision>& decisions);
  Allocation place(Placer& placer, const Taking& taking);

  const ClusterView* view_ = nullptr;
  FreeGpus free_;
  std::vector<int> rooms_;  // by type: GPUs left in this walk
  std::vector<JobIndex> stopping_;
  std::vector<Taking> taking_;  // that start or move
};

}  // namespace orrery::schedule
