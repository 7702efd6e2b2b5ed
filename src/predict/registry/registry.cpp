#include "predict/registry/registry.h"

#include <fmt/format.h>
#include <optional>

namespace orrery::predict {

Result<Prediction> Registry::predict(const workload::TrainingRun& run, const hardware::Placement& placement) const {
  std::optional<MeasuredModel> best;
  std::string known, refused;
  for (const std::string_view bytes : models_) {
    ORRERY_TRY(const std::string device, device_of_model(bytes));
    known += fmt::format("{}{}", known.empty() ? "" : ", ", device);
    if (hardware::find_device_or_null(device) != placement.device) continue;
    ORRERY_TRY(MeasuredModel model, parse_measured_model(bytes));
    const Status fits = MeasuredPredictor(model).check(run, placement);
    if (!fits) {
      refused = fits.error().message();
    } else if (!best || model.error < best->error) {
      best = std::move(model);
    }
  }
  if (best) return MeasuredPredictor(std::move(*best)).predict(run, placement);
  ORRERY_TRY(Prediction prediction, AnalyticPredictor().predict(run, placement));
  prediction.notes.push_back(refused.empty()
                                 ? fmt::format("by formulas: no model of {} is at hand{}", placement.device->name,
                                               known.empty() ? "" : " (there are models of " + known + ")")
                                 : "by formulas: " + refused);
  return prediction;
}

}  // namespace orrery::predict
