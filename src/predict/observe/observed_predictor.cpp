#include "predict/observe/observed_predictor.h"

#include <algorithm>
#include <fmt/format.h>

namespace orrery::predict {

Result<Prediction> ObservedPredictor::predict(const workload::TrainingRun& run,
                                              const hardware::Placement& placement) const {
  ORRERY_TRY(Prediction prediction, inner_->predict(run, placement));
  const auto correction = correction_of(observations_, placement.device->name, prediction.predictor);
  if (!correction) {
    prediction.notes.push_back(fmt::format("not corrected: fewer than {} measured runs of this predictor on {}",
                                           kObservationsMin, placement.device->name));
    return prediction;
  }
  scale_times(prediction, correction->factor);
  // Runs inside a model's domain give no information about one outside of it.
  const bool is_outside = prediction.learned_share > 0 && !prediction.in_domain;
  const auto& iteration = prediction.iteration;
  const double low = is_outside ? std::min(correction->low, iteration.low / iteration.value) : correction->low;
  const double high = is_outside ? std::max(correction->high, iteration.high / iteration.value) : correction->high;
  set_interval(prediction, low, high);
  prediction.calibrated = !is_outside;
  prediction.made_by += fmt::format(", corrected by {} measured runs (mean error {:.1f} %, before {:.1f} %)",
                                    correction->runs, 100 * correction->error_after, 100 * correction->error_before);
  return prediction;
}

}  // namespace orrery::predict
