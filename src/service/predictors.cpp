#include "service/predictors.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/files.h"
#include "predict/registry/model_file.h"
#include "predict/registry/registry.h"
#include "predict/registry/shipped_models.h"

namespace orrery::service {

namespace {

using Predictor = std::unique_ptr<predict::Predictor>;

Result<Predictor> operator_predictor(std::string_view bytes) {
  ORRERY_TRY(predict::OperatorModel model, predict::OperatorModel::parse(bytes));
  return std::make_unique<predict::OperatorPredictor>(std::move(model));
}

}  // namespace

OptionRecord predictor_option() {
  return text_option(
             "predictor", "auto",
             "auto (the model with the least error on this device), operators (what they took on measured GPUs), "
             "analytic (formulas), or a file that `orrery fit` made")
      .in("PREDICTOR");
}

OptionRecord fact_option() {
  return text_option("fact", "", "a regression takes these columns from here instead of from the run")
      .list()
      .in("NAME=VALUE");
}

const Fields<PredictorFields>& predictor_fields() {
  static const auto kFields = Fields<PredictorFields>()
                                  .add(&PredictorFields::predictor, predictor_option())
                                  .add(&PredictorFields::facts, fact_option());
  return kFields;
}

Result<std::unique_ptr<predict::Predictor>> make_predictor(env::Env env, const PredictorFields& fields,
                                                           const FieldNames& names) {
  const std::string& choice = fields.predictor;
  auto facts = predict::parse_facts(fields.facts);
  if (!facts) return names.error("fact", facts.error().message());
  const bool is_file = choice != "auto" && choice != "analytic" && choice != "operators";
  if (!is_file && !facts->empty()) {
    return names.error("fact", fmt::format("is for a regression; give its file as {}", names("predictor")));
  }
  if (choice == "auto") return std::make_unique<predict::Registry>(predict::shipped_models());
  if (choice == "analytic") return std::make_unique<predict::AnalyticPredictor>();
  if (choice == "operators") {
    for (const std::string_view bytes : predict::shipped_models()) {
      if (predict::OperatorModel::is_one(bytes)) return operator_predictor(bytes);
    }
    return Error::unsupported("no model of operators was built into this program");
  }
  ORRERY_TRY(const std::string bytes, env.files.read(choice, predict::kModelMax));
  auto predictor = predict::predictor_of_file(bytes, *facts);
  if (!predictor) return std::move(predictor).error().with_context(choice);
  return predictor;
}

Result<predict::MeasuredModel> steps_of_machine(std::string_view machine) {
  for (const std::string_view bytes : predict::shipped_models()) {
    if (!predict::is_measured_model(bytes)) continue;
    ORRERY_TRY(predict::MeasuredModel model, predict::parse_measured_model(bytes));
    if (model.machine.name == machine) return model;
  }
  return Error::not_found(fmt::format("no model of steps on {} was built into this program", quote(machine)));
}

Result<predict::JobUtilisationModel> job_utilisation_model(env::Env env, const std::string& choice) {
  if (choice != "auto") {
    ORRERY_TRY(const std::string bytes, env.files.read(choice, predict::kModelMax));
    const auto file = predict::model_file(bytes);
    if (file && file->kind != predict::ModelKind::kJobs) {
      return Error::unsupported(
          fmt::format("{}: {}, not a model of jobs; {} reads it", choice, file->noun, file->used_by));
    }
    auto model = predict::parse_job_utilisation(bytes);
    if (!model) return std::move(model).error().with_context(choice);
    return model;
  }
  for (const std::string_view bytes : predict::shipped_models()) {
    if (predict::is_job_utilisation(bytes)) return predict::parse_job_utilisation(bytes);
  }
  return Error::unsupported("no model of jobs was built into this program");
}

std::string calibration_text(std::size_t calibrated, std::size_t all) {
  if (calibrated == 0) return "uncalibrated";
  if (calibrated == all) return "by models of measurements";
  return fmt::format("{} of {} by models of measurements, the others uncalibrated", calibrated, all);
}

std::string calibration_text(std::span<const PredictedRun> runs) {
  const auto calibrated =
      std::count_if(runs.begin(), runs.end(), [](const PredictedRun& run) { return run.prediction.calibrated; });
  return calibration_text(static_cast<std::size_t>(calibrated), runs.size());
}

}  // namespace orrery::service
