#pragma once
// Predicts runs on the device a model was learned from. Operators' times and the interval are learned; how they make an
// iteration, the host's launches, the network, memory and cost are the analytic predictor's.

#include "predict/analytic/analytic.h"
#include "predict/measured/measured_model.h"

namespace orrery::predict {

class MeasuredPredictor final : public Predictor {
 public:
  explicit MeasuredPredictor(MeasuredModel model) : model_(std::move(model)) {}
  // The reason why a model of `device` cannot predict a run, as an error.
  static Status check(std::string_view device, const workload::TrainingRun& run, const hardware::Placement& placement);

  std::string_view name() const override { return "measured"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;
  const MeasuredModel& model() const { return model_; }

 private:
  MeasuredModel model_;
};

}  // namespace orrery::predict
