#pragma once
// Chooses the predictor of each run: of the models of its device that can predict it, the one with the least error on
// measurements it did not learn from; where there is none or the run is outside its domain, a model of operators
// measured on several devices, if it covers more of the run; the formulas where neither can. The prediction's notes say
// why. A model is read only when it is to predict.

#include <optional>

#include "predict/measured/measured_predictor.h"
#include "predict/operators/operator_predictor.h"

namespace orrery::predict {

// Not thread-safe: a model is read when the first run on its device needs it, and kept.
class Registry final : public Predictor {
 public:
  // Bytes of model files, which must outlive the registry.
  explicit Registry(std::span<const std::string_view> models);

  std::string_view name() const override { return "auto"; }
  Result<Prediction> predict(const workload::TrainingRun& run, const hardware::Placement& placement) const override;

 private:
  struct Entry {
    std::string_view bytes;
    std::optional<std::string> device{};  // of the model; read with the first run
    std::optional<MeasuredPredictor> predictor{};
  };
  static Status read_device(Entry& entry);
  static Status read_model(Entry& entry);
  // The measured model to use, or null; `refused` says why one of the device cannot predict the run.
  Result<const MeasuredPredictor*> best_of(const workload::TrainingRun& run, const hardware::Placement& placement,
                                           std::string& refused) const;
  std::string known_devices() const;
  Status read_operators() const;

  mutable std::vector<Entry> entries_;
  std::string_view operator_bytes_;
  mutable std::optional<OperatorPredictor> operators_;
};

}  // namespace orrery::predict
