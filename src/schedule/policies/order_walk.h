#pragma once
// One walk of a list policy over its jobs: those that still fit run.
//
// 1. begin() takes what is free. offer() adds the GPUs of a running job that may be suspended.
// 2. visit() is called for jobs in the order of the policy. A running job stays where it is if its type of device has
//    enough GPUs left. Any other job takes the fastest of its types that has enough: it starts, or moves there if it
//    ran elsewhere. A job for which no type has enough waits, or stops if it ran.
// 3. apply() makes the decisions: suspensions in the order of visits, then starts and moves.
// Where types do not differ all devices are of one type, and no job moves. A policy that knows by itself what starts and
// stops there calls start() and stop() instead of visit().
// Ties: of equally fast types the lower number. O(types) per visit. Source: fifo_perf of Gavel (OSDI 2020) takes the
// fastest free type in the same way.

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
  void offer(JobIndex running) { room(view_->type_under(running)) += view_->facts(running).gpus; }
  // Precondition: it was offered, or does not run.
  Verdict visit(JobIndex job);
  void start(JobIndex job) { taking_.push_back({job, 0}); }
  void stop(JobIndex job) { stopping_.push_back(job); }

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

 private:
  struct Taking {
    JobIndex job = kNoJob;
    std::int32_t type = 0;
  };

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
