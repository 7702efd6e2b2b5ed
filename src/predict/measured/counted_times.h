#pragma once
// Which learned times count. A regression gives some number for every step, also for one unlike all of its training
// data. On a GPU a time counts if it is learned (step_model.h); every other step takes the roofline. Times of a
// processor are learned from sizes drawn at random, which extrapolate within a kind of operator better than any
// formula: there a time counts if it is learned or related, and other steps take their prior times what steps of their
// group took of theirs.

#include "predict/analytic/analytic.h"
#include "predict/measured/step_model.h"

namespace orrery::predict {

struct CountedTimes {
  std::vector<double> seconds{};  // by step
  std::vector<bool> learned{};    // by step: counts
  double formula_share = 0;       // of the time of steps that run
  double unlike_share = 0;        // the same of steps that are not learned, related or not
  double unknown_motifs = 0;      // as in StepTimes
  // Whether the interval that was calibrated on measurements like those learned from holds.
  bool in_domain() const {
    return formula_share <= kLargePart && unlike_share <= kUnlikeMax && unknown_motifs <= kUnknownMotifsMax;
  }
  static constexpr double kUnlikeMax = 0.3;
};

CountedTimes counted_times(const StepModel& model, const workload::TrainingRun& run, const hardware::Device& device);
// The sum over those steps that were measured.
double sum_like(const CountedTimes& times, const MeasuredSteps& measured);

}  // namespace orrery::predict
