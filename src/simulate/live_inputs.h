#pragma once
// What policies know of jobs if nothing is known that a real cluster could not know: `orrery simulate --inputs live`.
//
// How much work a job is, from the first source that says it:
//   1. its steps, times the predicted time of a step on the GPUs it asks for;
//   2. the mean run time of like jobs that have ended (estimate/duration_history.h);
//   3. its time limit;
//   4. nothing: the work is unknown (schedule::kUnknownWork) until another job has ended.
// A job that has run for `sample_ns` has been measured: its utilisation, share of memory and stages are known (until
// then it counts as one that needs its GPUs wholly), and so is the time of its steps. On k GPUs that is the time on the
// GPUs it asks for up to what is predicted of how it scales. A job that has outlived its estimate is taken to have as
// much left as it has done.
// GPUs, tenant, priority, deadline and limits are said by users, and known.

#include <vector>

#include "simulate/estimate/duration_history.h"
#include "simulate/job_trace.h"
#include "simulate/step_times.h"

namespace orrery::simulate {

struct LiveOptions {
  TimeNs sample_ns = 60 * schedule::kSecondNs;
};

class LiveInputs {
 public:
  // Both are borrowed.
  LiveInputs(const JobTrace& job_trace, const JobCurves& predicted, const LiveOptions& options)
      : job_trace_(job_trace), predicted_(predicted), options_(options), is_measured_(job_trace.jobs.size(), false) {}

  // What is known of a job that is submitted now.
  JobFacts submitted(JobIndex job);
  // It has ended.
  void ended(JobIndex job);
  // Jobs of which more is known since the last call, because others have ended; some may have ended themselves.
  std::vector<JobIndex> take_known();

  // When more will be known of a running job if nothing happens; kNever: not before it ends.
  TimeNs next_ns(const schedule::ClusterView& view, JobIndex job) const;
  // What is known of a live job now.
  JobFacts now(const schedule::ClusterView& view, JobIndex job);

 private:
  const TraceJob& traced(JobIndex job) const { return job_trace_.jobs[job]; }
  const schedule::StepCurve* curve_of(JobIndex job) const;
  TimeNs estimated_work(JobIndex job) const;
  TimeNs measured_work(const schedule::ClusterView& view, JobIndex job) const;

  const JobTrace& job_trace_;
  const JobCurves& predicted_;
  LiveOptions options_;
  DurationHistory history_;
  std::vector<bool> is_measured_;
  std::vector<JobIndex> unknown_;  // of which nothing says how much work they are
};

}  // namespace orrery::simulate
