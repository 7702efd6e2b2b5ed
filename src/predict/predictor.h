#pragma once
// The one interface of everything that predicts.

#include "hardware/placement.h"
#include "predict/prediction.h"
#include "workload/training_run.h"

namespace orrery::predict {

class Predictor {
 public:
  virtual ~Predictor() = default;
  virtual std::string_view name() const = 0;
  // Precondition: none; an impossible run or placement is an error. The same input gives the same answer.
  virtual Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const = 0;
};

}  // namespace orrery::predict
