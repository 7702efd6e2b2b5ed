#pragma once
// The ledger of a cluster: which job holds which GPUs. The code that carries out decisions keeps it; policies see it as
// ClusterView.
//
// Every change is checked: a GPU is never given twice, work never shrinks. A wrong change is a defect of the caller.

#include "base/result.h"
#include "schedule/cluster_view.h"
#include "schedule/decision.h"

namespace orrery::schedule {

class ClusterLedger : public ClusterView {
 public:
  explicit ClusterLedger(Machines machines);

  void reserve_jobs(std::size_t count);
  // How fast jobs of each class are on each type of device; every class of a job must be there.
  void set_speeds(std::vector<std::vector<double>> by_class);
  // Running jobs may not be suspended before this time.
  void set_min_run(TimeNs min_run_ns) { min_run_ns_ = min_run_ns; }
  // Adds a job that has not been submitted yet.
  JobIndex add(JobFacts&& facts);
  // It is submitted, and waits.
  void admit(JobIndex job);
  // A job that has ended takes no memory any more.
  void forget(JobIndex job);
  // Time never goes back.
  void advance_to(TimeNs now);

  // Whether `decision` can be carried out now; the error says why not. Decisions of one call are carried out together:
  // call check_release before any job releases GPUs, and check_take when all have.
  Status check_release(const Decision& decision) const;
  Status check_take(const Decision& decision) const;

  // A waiting or suspended job takes `allocation`; it works from `resumes` on with `rate`.
  void start(JobIndex job, Allocation allocation, double rate, TimeNs resumes);
  // A job that has just started does nothing before begin_work(), and may not be suspended if there is a minimum run
  // time.
  void await_start(JobIndex job);
  void begin_work(JobIndex job);
  // A running job releases its GPUs and keeps its work.
  void suspend(JobIndex job);
  // A running or waiting job is over.
  void end(JobIndex job);
  // Records the work done until now, then continues with another rate.
  void set_rate(JobIndex job, double rate);
  // A job shares the GPUs of `host`, and of the jobs that share them already, and then holds them too.
  void share(JobIndex guest, JobIndex host, bool interleaves, double rate, TimeNs resumes);
  // Work done is at most what it was: a crash loses work that was not saved.
  void lose_work(JobIndex job, TimeNs kept_ns);
  // What is known of a job now: its work, utilisation, share of memory and stages; all else stays as it was.
  void revise(JobIndex job, const JobFacts& known);
  void set_machine_up(MachineIndex machine, bool up);
  // Measurements of a running job's workers, and the batch it trains with.
  void set_slowest_worker(JobIndex job, double speed) { changed(job).slowest_worker = static_cast<float>(speed); }
  void set_batch_factor(JobIndex job, double factor) { changed(job).batch_factor = static_cast<float>(factor); }

  // Withholds free GPUs from the policy, for a job that is no longer the policy's; and gives them back.
  void withhold(const Slice& slice);
  void give_back(const Slice& slice);
  // A waiting job starts on GPUs that are withheld; when it stops they are the policy's again.
  void start_withheld(JobIndex job, const Allocation& allocation, double rate, TimeNs resumes);

  // GPUs that running jobs hold, withheld ones included.
  int held_gpus() const { return gpus_ - free_ + withheld_held_; }
  // Free GPUs on machines that are partly in use, which larger jobs cannot get.
  int stranded_gpus() const { return stranded_; }
  // The slowest type among those of an allocation, for this job; 0 if it cannot run on one of them.
  double type_speed(JobIndex job, const Allocation& allocation) const;

  // An invariant of every reachable state; tests call it after every event. The error names the machine or job.
  Status check_invariants() const;

 private:
  Status check_share(const Decision& decision) const;
  Status check_ring(JobIndex job) const;
  void leave_ring(JobIndex job);
  void book(JobProgress& running);
  void release(JobIndex job, JobProgress& running);
  JobProgress& set_running(JobIndex job, Allocation allocation, double rate, TimeNs resumes);
  void hold(JobIndex job, const Allocation& allocation, int sign);
  void change_machine(const Slice& slice, int sign);
  static int stranded_on(const MachineView& machine) {
    return machine.up && machine.free < machine.gpus ? machine.free : 0;
  }
  JobProgress& changed(JobIndex job) { return progress_[job]; }

  int withheld_held_ = 0;
  int stranded_ = 0;
};

}  // namespace orrery::schedule
