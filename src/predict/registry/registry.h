#pragma once
// Chooses the predictor of each run: of the models that know its device and can predict it, the one with the least
// error on measurements it did not learn from; the formulas where there is none. The prediction's notes say why.

#include "predict/measured/measured_predictor.h"

namespace orrery::predict {

class Registry final : public Predictor {
 public:
  // Bytes of model files, which must outlive the registry; each is read when a run on its device asks for it.
  explicit Registry(std::span<const std::string_view> models) : models_(models.begin(), models.end()) {}

  std::string_view name() const override { return "auto"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;

 private:
  std::vector<std::string_view> models_;
};

}  // namespace orrery::predict
