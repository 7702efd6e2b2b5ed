#pragma once
// Another predictor, corrected by what was measured of its predictions (observations.h).

#include <memory>

#include "predict/observe/observations.h"
#include "predict/predictor.h"

namespace orrery::predict {

class ObservedPredictor final : public Predictor {
 public:
  ObservedPredictor(std::unique_ptr<Predictor> inner, std::vector<Observation> observations)
      : inner_(std::move(inner)), observations_(std::move(observations)) {}

  std::string_view name() const override { return inner_->name(); }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;

 private:
  std::unique_ptr<Predictor> inner_;
  std::vector<Observation> observations_;
};

}  // namespace orrery::predict
