#pragma once
// Predicts runs on GPUs, measured ones or not, from the times of operators on others (operator_model.h). Products,
// softmax, norms and passes over tensors are learned; the roofline has the rest, and how operators make an iteration,
// the network, memory and cost are the analytic predictor's.

#include "predict/analytic/analytic.h"
#include "predict/operators/operator_model.h"

namespace orrery::predict {

class OperatorPredictor final : public Predictor {
 public:
  // `excluded`: a measured device whose measurements are not used, for evaluation.
  explicit OperatorPredictor(OperatorModel model, std::string excluded = {})
      : model_(std::move(model)), excluded_(std::move(excluded)) {}
  // The reason why models of operators cannot predict a run, as an error.
  static Status check(const workload::TrainingRun& run, const hardware::Placement& placement);

  std::string_view name() const override { return "operators"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;

 private:
  OperatorModel model_;
  std::string excluded_;
};

}  // namespace orrery::predict
