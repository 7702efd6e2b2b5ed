#pragma once
// Runs a cluster by a policy: takes in what happened, asks the policy, and says what changes.
//
// It has no clock, socket or thread. At every instant its caller, the backend:
// 1. moves time on (advance_to), and tells what happened: jobs that ended, machines that failed or came back, jobs that
//    were submitted or cancelled, in this order;
// 2. calls step(): jobs that have waited too long get free GPUs (aged_jobs.h), and the policy is called if its round is
//    due; its decisions are carried out on the ledger, those that release GPUs first;
// 3. takes the changes, and does them: the simulator at once, a real cluster through a Reconciler (reconciler.h).
// Nothing has to happen before due_ns(), when step() must be called though nothing happened.
//
// The ledger is the desired cluster: a decision changes it at once. The policy sees nothing else. Jobs have numbers in
// the order of their submission, and no number is used twice.

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "schedule/aged_jobs.h"
#include "schedule/cluster_ledger.h"
#include "schedule/policy.h"
#include "schedule/time_queue.h"

namespace orrery::schedule {

// What changes cost. No work is done meanwhile, but GPUs are held.
struct Costs {
  TimeNs first_start_ns = 0;
  TimeNs resume_ns = 0;      // start again after a suspension or failure
  TimeNs move_ns = 0;        // migrate or resize
  TimeNs checkpoint_ns = 0;  // a failure loses the work since the last multiple of this; 0: none is lost
};

struct DispatchOptions {
  Costs costs{};
  // GPUs that each tenant's jobs may ask for at a time; 0: no limit. A job beyond it is not shown to the policy before
  // earlier ones of its tenant have ended; it comes in the order of submission.
  int tenant_quota = 0;
  // A job that has waited this long gets the next free GPUs under any policy; 0: never.
  TimeNs age_ns = 0;
  // No job is suspended before it has run this long (ClusterView::is_protected).
  TimeNs min_run_ns = 0;
  TimeNs round_ns = 0;  // the policy is called at multiples of this only; 0: at its own
  // How fast jobs of each class (JobFacts::speed_class) are on each type of device; empty: types do not differ.
  std::vector<std::vector<double>> speeds{};
  bool keep_log = false;
  // A decision that cannot be carried out ends the run with an error. Otherwise it is logged with the error and left out,
  // and a new policy takes over.
  bool is_strict = false;
  // Changes take time and may fail: a job that starts does no work before started().
  bool awaits_starts = false;
};

// A decision, or an eviction, which is none but belongs to what happened to a job; its allocation is what the job lost.
struct LoggedDecision {
  TimeNs at_ns = 0;
  Decision decision;
  std::string error{};  // why it was not carried out
};

// What the backend has to do, or to take into account, after a call.
struct Change {
  enum class Kind : std::uint8_t {
    kStarted,   // has got the GPUs that the view says
    kReleased,  // holds no GPUs any more: it waits, or has ended
    kSpeed,     // its batch, or the jobs with which it shares GPUs, are others than before
  };
  Kind kind = Kind::kStarted;
  bool is_move = false;   // of kReleased: it starts elsewhere in this step, unless that is refused
  bool by_fault = false;  // of kReleased: it lost its GPUs with a machine
  JobIndex job = kNoJob;
  JobIndex beside = kNoJob;  // of kStarted: the job whose GPUs it shares
};

enum class Admission : std::uint8_t {
  kAdmitted,
  kHeld,      // by the quota of its tenant
  kTooLarge,  // asks for more GPUs than the cluster has of a type it runs on, or than the quota; it will never run
};

// Makes the policy, which may look at the view while it lives.
using PolicyMaker = std::function<Result<std::unique_ptr<Policy>>(const ClusterView&)>;

class Dispatcher {
 public:
  // `machines` as at the start, all GPUs free.
  Dispatcher(const Machines& machines, DispatchOptions options);
  Dispatcher(const Dispatcher&) = delete;  // its policy borrows the view
  Dispatcher& operator=(const Dispatcher&) = delete;

  // Before the first step.
  Status set_policy(const PolicyMaker& make);
  const Policy& policy() const { return *policy_; }

  const ClusterView& view() const { return ledger_; }
  // For what the backend knows of running jobs: their speeds, and measurements.
  ClusterLedger& ledger() { return ledger_; }
  const DispatchOptions& options() const { return options_; }

  // Time never goes back.
  void advance_to(TimeNs now) { ledger_.advance_to(now); }

  // Its number is the one after that of the job before. `first_start_ns` is what its first start costs beyond that of
  // every job.
  Admission submit(JobFacts known, TimeNs first_start_ns = 0);
  // It has done its work. If the policy has suspended it meanwhile it is over as well.
  void end(JobIndex job);
  // It shall not run any more, whether it waits or runs.
  void cancel(JobIndex job);
  // Jobs there lose their GPUs and wait again. `is_announced`: they have saved their work.
  void fail_machine(MachineIndex machine, bool is_announced = false);
  void restore_machine(MachineIndex machine);
  // A running job lost its GPUs for another reason than a machine, which is given.
  void evict(JobIndex job, const Reason& reason, std::string error);
  // It is given up, whether it waits or runs.
  void fail(JobIndex job, const Reason& reason);
  // Other work, utilisation, share of memory or stages of a job are known now: measured, or predicted anew. The policy
  // is told of it if it knows the job.
  void revise(JobIndex job, const JobFacts& known);
  // A job that has ended takes no memory any more from the next step on in which the policy is called, and reads as one
  // that has ended.
  void forget(JobIndex job);
  // With awaits_starts: a job that was started works from now on.
  void started(JobIndex job);

  // Whether the policy was called. An error: see DispatchOptions::is_strict.
  Result<bool> step();
  // When step() must be called though nothing happens; kNever: not before the next event. `expects_jobs`: others will
  // be submitted.
  TimeNs due_ns(bool expects_jobs);

  // The state of the policy, and another policy that is restored from it at the same moment. If it refuses the bytes, a
  // third one adopts the cluster and is called at once; the answer is then false. Only when changes are taken.
  std::string save_policy();
  Result<bool> restart_policy(std::string_view bytes);

  // What the policy decided in the last step in which it was called. Allocations that were taken are in the view.
  std::span<const Decision> decided() const { return decided_; }
  std::span<const Change> changes() const { return changes_; }
  void clear_changes() { changes_.clear(); }

  int active() const { return active_; }  // admitted, and not ended
  int running() const { return running_; }
  std::int64_t events() const { return events_; }  // what happened, and calls of the policy without that
  std::int64_t decisions() const { return decisions_made_; }
  std::uint64_t decision_hash() const { return hash_; }  // of every decision with its time, in order
  std::vector<LoggedDecision> take_log() { return std::move(log_); }

  // The most GPUs that a job could get: all, or those of one type it runs on. `only_up`: of machines that are up.
  int capacity_for(JobIndex job, bool only_up) const;

 private:
  // A tenant's GPUs asked for by jobs the policy knows, and the jobs that wait to be shown to it.
  struct Quota {
    std::int64_t gpus = 0;
    std::deque<JobIndex> held{};
  };

  Quota& quota_of(JobIndex job);
  void admit(JobIndex job);
  void admit_within(Quota& quota);
  void leave_quota(JobIndex job);
  void leave(JobIndex job);

  bool events_pending() const {
    return !event_arrived_.empty() || !event_ended_.empty() || !event_evicted_.empty() || !event_withdrawn_.empty() ||
           !event_revised_.empty() || machines_changed_;
  }
  Event untold() const {
    return {event_arrived_, event_ended_, event_evicted_, machines_changed_, event_withdrawn_, {}, event_revised_};
  }
  void serve_aged();
  TimeNs resumes_of(JobIndex job) const;
  void begin(JobIndex job, JobIndex beside = kNoJob);
  void lose(JobIndex job, const Reason& reason, bool is_announced, std::string error);
  void release(JobIndex job, bool is_move, bool by_fault);
  void changed(Change::Kind kind, JobIndex job) { changes_.push_back({.kind = kind, .job = job}); }
  void changed_group(JobIndex job);
  void changed_others(JobIndex job);

  void forget_jobs();
  [[gnu::always_inline]] Status ask();  // of step(), which is taken millions of times
  Status refuse(const Decision& decision, Error error);
  Status adopt();
  void let_go(const Decision& decision);
  void take(Decision& decision);
  void record(const Decision& decision);

  DispatchOptions options_;
  ClusterLedger ledger_;
  PolicyMaker make_policy_;
  std::unique_ptr<Policy> policy_;
  AgedJobs aged_;
  TimeQueue ages_;                                 // when waiting jobs will have waited too long, if that is limited
  std::deque<TimeNs> protected_;                   // ends of minimum run times
  IndexedVector<MachineIndex, int> machine_gpus_;  // whatever was withheld of them since
  std::vector<int> capacities_;                    // by type of device, with every machine up
  int capacity_ = 0;                               // of all types
  std::vector<Quota> quotas_;                      // by tenant, if there are any
  JobTable<TimeNs> first_starts_;                  // of jobs whose first start costs more; may be shorter than jobs
  TimeNs round_ns_ = 0;
  TimeNs promised_round_ns_ = kNever;  // that due_ns() has named
  TimeNs retry_ns_ = kNever;           // a decision could not be carried out
  std::int32_t active_ = 0, running_ = 0;
  bool was_refused_ = false;  // a decision of this step
  bool stalled_ = false;      // asked without an event, and nothing was decided
  bool machines_changed_ = false;
  std::vector<JobIndex> event_arrived_, event_ended_, event_evicted_, event_withdrawn_, event_revised_;
  std::vector<JobIndex> event_forgotten_;  // to come
  std::vector<JobIndex> forgotten_;        // of this call
  std::vector<Decision> decided_;
  std::vector<Change> changes_;
  std::vector<LoggedDecision> log_;
  std::size_t logged_before_ = 0;  // entries of the log before this call
  std::int64_t events_ = 0, decisions_made_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace orrery::schedule
