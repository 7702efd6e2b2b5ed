#pragma once
// Predicts runs on the machine a model was learned from: one processor, no parallelism. Memory and cost are the
// analytic predictor's; time, its interval and the timeline are learned.

#include "predict/analytic/analytic.h"
#include "predict/measured/measured_model.h"

namespace orrery::predict {

class MeasuredPredictor final : public Predictor {
 public:
  explicit MeasuredPredictor(MeasuredModel model) : model_(std::move(model)) {}

  std::string_view name() const override { return "measured"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;
  const MeasuredModel& model() const { return model_; }

 private:
  MeasuredModel model_;
  AnalyticPredictor analytic_;
};

}  // namespace orrery::predict
