#include "cli/predictors.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/text.h"
#include "env/files.h"
#include "predict/registry/model_file.h"
#include "predict/registry/registry.h"
#include "predict/registry/shipped_models.h"

namespace orrery::cli {

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

Result<std::unique_ptr<predict::Predictor>> chosen_predictor(env::Env env, const OptionValues& options) {
  const auto is_fact = [](const OptionRecord& record) { return record.name == "fact"; };
  if (std::none_of(options.records().begin(), options.records().end(), is_fact)) {
    return named_predictor(env, options.text("predictor"));
  }
  auto facts = predict::parse_facts(options.texts("fact"));
  if (!facts) return std::move(facts).error().with_context("--fact");
  return named_predictor(env, options.text("predictor"), *facts);
}

Result<std::unique_ptr<predict::Predictor>> named_predictor(env::Env env, const std::string& choice,
                                                            const predict::RunFacts& facts) {
  const bool is_file = choice != "auto" && choice != "analytic" && choice != "operators";
  if (!is_file && !facts.empty())
    return Error::invalid("--fact is for a regression; give its file as --predictor FILE");
  if (choice == "auto") return std::make_unique<predict::Registry>(predict::shipped_models());
  if (choice == "analytic") return std::make_unique<predict::AnalyticPredictor>();
  if (choice == "operators") {
    for (const std::string_view bytes : predict::shipped_models()) {
      if (predict::OperatorModel::is_one(bytes)) return operator_predictor(bytes);
    }
    return Error::unsupported("no model of operators was built into this program");
  }
  ORRERY_TRY(const std::string bytes, env.files.read(choice, predict::kModelMax));
  auto predictor = predict::predictor_of_file(bytes, facts);
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

std::string calibration_text(std::span<const predict::Prediction> predictions) {
  const auto calibrated = std::count_if(predictions.begin(), predictions.end(),
                                        [](const predict::Prediction& one) { return one.calibrated; });
  return calibration_text(static_cast<std::size_t>(calibrated), predictions.size());
}

}  // namespace orrery::cli
