#include "cli/predictors.h"

#include <algorithm>
#include <fmt/format.h>

#include "predict/registry/registry.h"
#include "predict/registry/shipped_models.h"

namespace orrery::cli {

OptionRecord predictor_option() {
  return text_option("with", "auto",
                     "auto (the model with the least error on this device), analytic (formulas), or a file that "
                     "`orrery fit` made")
      .in("PREDICTOR");
}

Result<std::unique_ptr<predict::Predictor>> chosen_predictor(env::Env env, const OptionValues& options) {
  const std::string& choice = options.text("with");
  if (choice == "auto") return std::make_unique<predict::Registry>(predict::shipped_models());
  if (choice == "analytic") return std::make_unique<predict::AnalyticPredictor>();
  ORRERY_TRY(predict::MeasuredModel model, predict::read_measured_model(env.files, choice));
  return std::make_unique<predict::MeasuredPredictor>(std::move(model));
}

std::string calibration_text(std::size_t calibrated, std::size_t all) {
  if (calibrated == 0) return "uncalibrated";
  if (calibrated == all) return "by models of measurements";
  return fmt::format("{} of {} by models of measurements, the others uncalibrated", calibrated, all);
}

std::string calibration_text(std::span<const predict::Prediction> predictions) {
  const auto calibrated = std::count_if(predictions.begin(), predictions.end(),
                                        [](const predict::Prediction& one) { return one.calibrated; });
  return calibration_text(static_cast<std::size_t>(calibrated), predictions.size());
}

}  // namespace orrery::cli
