#include "simulate/live_inputs.h"

#include <algorithm>
#include <utility>

namespace orrery::simulate {

using schedule::ClusterView;
using schedule::kUnknownWork;

namespace {

// Of a time that a double holds; an estimate is below what is unknown.
TimeNs work_of(double seconds) {
  return schedule::from_seconds(std::clamp(seconds, 1e-9, schedule::to_seconds(kUnknownWork) / 2));
}

}  // namespace

const schedule::StepCurve* LiveInputs::curve_of(JobIndex job) const {
  return job.place() < predicted_.size() ? predicted_[job].get() : nullptr;
}

TimeNs LiveInputs::estimated_work(JobIndex job) const {
  const TraceJob& one = traced(job);
  const schedule::StepCurve* const curve = curve_of(job);
  if (curve != nullptr && one.steps > 0) return work_of(one.steps * curve->step_s(one.facts.gpus));
  if (!history_.empty()) return work_of(history_.mean_s(one.facts));
  return one.time_limit_ns != kNever ? one.time_limit_ns : kUnknownWork;
}

JobFacts LiveInputs::submitted(JobIndex job) {
  JobFacts facts = traced(job).facts;
  facts.work_ns = estimated_work(job);
  facts.gpu_utilisation = 1;
  facts.gpu_memory_share = 1;
  facts.stages = nullptr;
  if (facts.work_ns == kUnknownWork) unknown_.push_back(job);
  return facts;
}

void LiveInputs::ended(JobIndex job) {
  const JobFacts& facts = traced(job).facts;
  history_.add(facts, schedule::to_seconds(facts.work_ns));
}

std::vector<JobIndex> LiveInputs::take_known() {
  return history_.empty() ? std::vector<JobIndex>() : std::exchange(unknown_, {});
}

TimeNs LiveInputs::next_ns(const ClusterView& view, JobIndex job) const {
  const schedule::JobProgress& progress = view.progress(job);
  if (!view.is_running(job) || !(progress.rate > 0)) return kNever;
  if (!is_measured_[job.place()]) return view.now() + std::max<TimeNs>(0, options_.sample_ns - view.executed_ns(job));
  const double left = static_cast<double>(std::max<TimeNs>(0, view.left_ns(job))) / progress.rate;
  if (left > static_cast<double>(kUnknownWork) / 2) return kNever;
  // Rounded up: when it is called it has done its estimated work.
  return std::max(view.now(), progress.resumes_ns) + static_cast<TimeNs>(left) + 1;
}

// Steps are measured where it runs; on the GPUs it asks for they take as much less as is predicted.
TimeNs LiveInputs::measured_work(const ClusterView& view, JobIndex job) const {
  const schedule::JobProgress& progress = view.progress(job);
  const JobFacts& truth = traced(job).facts;
  const TimeNs done = view.done_ns(job);
  const double of_type = view.is_typed() ? view.speed_on(job, view.type_under(job)) : 1;
  const int gpus = gpus_in(progress.allocation);
  const double predicted = curve_of(job)->step_s(gpus) / curve_of(job)->step_s(truth.gpus);
  const double shown = of_type / progress.rate;
  return done + work_of(schedule::to_seconds(truth.work_ns - done) * shown / predicted);
}

JobFacts LiveInputs::now(const ClusterView& view, JobIndex job) {
  if (!view.is_running(job)) {
    JobFacts facts = view.facts(job);
    if (!view.knows_work(job)) facts.work_ns = std::max(estimated_work(job), view.done_ns(job));
    return facts;
  }
  is_measured_[job.place()] = is_measured_[job.place()] || view.executed_ns(job) >= options_.sample_ns;
  if (!is_measured_[job.place()]) return view.facts(job);
  JobFacts facts = traced(job).facts;
  facts.work_ns = view.facts(job).work_ns;
  const bool alone = view.progress(job).partner == schedule::kNoJob && view.progress(job).rate > 0;
  if (curve_of(job) != nullptr && traced(job).steps > 0 && alone) {
    facts.work_ns = measured_work(view, job);
  } else if (!view.knows_work(job) && !history_.empty()) {
    facts.work_ns = estimated_work(job);
  }
  constexpr TimeNs kLeast = schedule::kSecondNs;
  if (view.done_ns(job) >= facts.work_ns) facts.work_ns = view.done_ns(job) + std::max(kLeast, view.done_ns(job));
  return facts;
}

}  // namespace orrery::simulate
