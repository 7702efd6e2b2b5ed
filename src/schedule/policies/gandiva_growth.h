#pragma once
// Grow-shrink of Gandiva: jobs that allow it use GPUs of their own server that no other job wants.
//
// Assumes: elastic jobs (JobFacts::gpus_max) on one server; rates of jobs are measured.
// 1. When no job has come or waited for a while, every job that may grow takes the idle GPUs of its server, up to its
//    maximum; several on one server in the order of submission.
// 2. After as long again the measured rates are compared: a job that did not become faster gives the GPUs back and
//    never grows again.
// 3. As soon as a job arrives, is evicted or waits, or machines change, every job shrinks to what it asked for.
// Source: Xiao et al., "Gandiva" (OSDI 2018), section 3.4.

#include "schedule/placement/placer.h"
#include "schedule/policy.h"

namespace orrery::schedule {

class GandivaGrowth {
 public:
  explicit GandivaGrowth(TimeNs after_ns) : after_ns_(after_ns) {}

  // Step 3. `free` and `decisions` follow; the jobs are appended to `changed`.
  void shrink_all(const ClusterView& view, FreeGpus& free, std::vector<Decision>& decisions,
                  std::vector<JobIndex>& changed);
  // Steps 1 and 2, for `running` jobs about which nothing else was decided. Called at every event at which no job
  // waits. `others`: elastic jobs were started in this call and may grow later.
  void grow(const ClusterView& view, const std::vector<JobIndex>& running, bool others, FreeGpus& free,
            std::vector<Decision>& decisions);
  // A job waits: idleness is counted from the next time none does.
  void not_idle() { idle_since_ns_ = kNever; }
  // The job has ended or lost its GPUs.
  void forget(JobIndex job);
  // When grow() would do something; kNever if no job can grow.
  TimeNs wake_at_ns() const { return wake_ns_; }

  void exchange(StateArchive& state);
  // A running job with more GPUs than it asks for, on one server; its rate before that is not known.
  void adopt(const ClusterView& view, JobIndex job) {
    grown_.push_back({.job = job, .since_ns = view.now(), .judged = true});
  }

 private:
  struct Grown {
    JobIndex job = kNoJob;
    double rate_before = 0;
    TimeNs since_ns = 0;
    bool judged = false;
    void exchange(StateArchive& state) { state(job, rate_before, since_ns, judged); }
  };
  static void resize(const ClusterView& view, JobIndex job, int gpus, const Reason& reason, FreeGpus& free,
                     std::vector<Decision>& decisions);
  void judge(const ClusterView& view, FreeGpus& free, std::vector<Decision>& decisions);
  bool may_grow(const ClusterView& view, JobIndex job) const;

  TimeNs after_ns_;
  TimeNs idle_since_ns_ = kNever;
  TimeNs wake_ns_ = kNever;
  std::vector<Grown> grown_;
  std::vector<JobIndex> not_faster_;  // tried without success
};

}  // namespace orrery::schedule
