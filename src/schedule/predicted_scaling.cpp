#include "schedule/predicted_scaling.h"

#include <algorithm>
#include <iterator>

namespace orrery::schedule {

namespace {

// The rate of a job that shares its GPUs, has a slow worker or another batch says nothing of how it scales.
bool shows_its_speed(const ClusterView& view, JobIndex job) {
  const JobProgress& progress = view.progress(job);
  return view.is_running(job) && !progress.is_starting && progress.rate > 0 && view.now() > progress.resumes_ns &&
         progress.partner == kNoJob && progress.slowest_worker == 1 && progress.batch_factor == 1;
}

}  // namespace

const StepCurve* PredictedScaling::curve_of(JobIndex job) const {
  return job.place() < curves_.size() ? curves_[job].get() : nullptr;
}

double PredictedScaling::predicted(JobIndex job, int gpus) const {
  const int asked = view_.facts(job).gpus;
  const StepCurve* const curve = curve_of(job);
  if (curve == nullptr) return gpus >= asked ? 1 : static_cast<double>(asked) / gpus;
  return curve->step_s(gpus) / curve->step_s(asked);
}

void PredictedScaling::learn(JobIndex job, const Kind& kind) const {
  const Allocation& held = view_.progress(job).allocation;
  const int gpus = gpus_in(held);
  if (gpus == kind.asked || servers_in(held) > 0 || !shows_its_speed(view_, job)) return;
  const double speed_of_type = view_.is_typed() ? view_.speed_on(job, view_.type_under(job)) : 1;
  Corrections& corrections = shown_[kind];
  corrections[kind.asked] = 1;
  corrections[gpus] = speed_of_type / view_.progress(job).rate / predicted(job, gpus);
}

double PredictedScaling::correction(JobIndex job, int gpus) const {
  const StepCurve* const curve = curve_of(job);
  const Kind kind = {curve, curve == nullptr ? job : kNoJob, view_.facts(job).gpus};
  learn(job, kind);
  const auto shown = shown_.find(kind);
  if (shown == shown_.end()) return 1;
  const Corrections& corrections = shown->second;
  const auto next = corrections.lower_bound(gpus);
  if (next == corrections.end()) return corrections.rbegin()->second;
  if (next->first == gpus || next == corrections.begin()) return next->second;
  return interpolated(gpus, *std::prev(next), *next);
}

double PredictedScaling::step_s(JobIndex job, int gpus) const {
  return predicted(job, gpus) * correction(job, gpus);
}

double PredictedScaling::steps_left(JobIndex job) const {
  // A job that has done all its predicted work and still runs is assumed to end soon.
  return std::max(1.0, to_seconds(view_.expected_left_ns(job)));
}

int PredictedScaling::gpus_max(JobIndex job) const {
  const JobFacts& facts = view_.facts(job);
  const StepCurve* const curve = curve_of(job);
  const int useful = curve == nullptr ? facts.gpus_max : std::min(curve->most(), std::max(facts.gpus_max, facts.gpus));
  return std::max(facts.gpus, useful);
}

}  // namespace orrery::schedule
