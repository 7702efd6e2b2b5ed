#pragma once
// How jobs scale as a predictor says, corrected by what running jobs show.
//
// Assumes: a curve of predicted step times with the batch of the job (step_curve.h); what is left of a job is what the
// view says.
// 1. On k GPUs a step takes t(k) / t(asked) of one on the GPUs asked for, with t from the curve.
// 2. While a job runs on k GPUs, alone and at the batch and speed of its type, its rate shows how long a step really
//    takes there, of one on the GPUs asked for. The quotient of shown and predicted corrects the curve at k; it is 1 at
//    the number asked for. Between two corrections it is interpolated as a curve is, beyond them it stays.
// 3. Jobs with one curve that ask for the same number of GPUs share corrections; the last that was shown counts.
// 4. More GPUs than those with the shortest predicted step are of no use, unless the job asks for them.
// A job without a curve, because its model is not known, is believed to gain nothing from more GPUs than it asks for
// and to be slower in proportion on fewer, until it shows otherwise.
//
// With parameter servers nothing is predicted (ps_speed).

#include <map>
#include <utility>

#include "schedule/cluster_view.h"
#include "schedule/scaling_model.h"
#include "schedule/step_curve.h"

namespace orrery::schedule {

class PredictedScaling : public ScalingModel {
 public:
  // The view is borrowed. `curves` by job; null where nothing is predicted. Jobs beyond it have none.
  PredictedScaling(const ClusterView& view, const IndexedVector<JobIndex, SharedCurve>& curves)
      : view_(view), curves_(curves) {}

  double step_s(JobIndex job, int gpus) const override;
  double steps_left(JobIndex job) const override;
  int gpus_max(JobIndex job) const override;

 private:
  // What is shown, of what is predicted, by number of GPUs.
  using Corrections = std::map<int, double>;
  // A curve and the number of GPUs asked for; a job without a curve has its own.
  struct Kind {
    const StepCurve* curve = nullptr;
    JobIndex job = kNoJob;
    int asked = 1;
    auto operator<=>(const Kind&) const = default;
  };

  const StepCurve* curve_of(JobIndex job) const;
  double predicted(JobIndex job, int gpus) const;
  void learn(JobIndex job, const Kind& kind) const;
  double correction(JobIndex job, int gpus) const;

  const ClusterView& view_;
  const IndexedVector<JobIndex, SharedCurve>& curves_;
  mutable std::map<Kind, Corrections> shown_;  // what was learned; asked by one policy of one run
};

}  // namespace orrery::schedule
