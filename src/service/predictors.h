#pragma once
// The fields that choose the predictor, and the models of measurements that ship with the program.

#include <memory>

#include "base/fields.h"
#include "env/env.h"
#include "predict/jobs/job_utilisation_model.h"
#include "predict/predictor.h"
#include "predict/regression/run_facts.h"
#include "service/runs.h"

namespace orrery::service {

struct PredictorFields {
  std::string predictor;  // auto, operators, analytic, or a file
  std::vector<std::string> facts;

  bool operator==(const PredictorFields&) const = default;
};
const Fields<PredictorFields>& predictor_fields();
OptionRecord predictor_option();
OptionRecord fact_option();

Result<std::unique_ptr<predict::Predictor>> make_predictor(env::Env env, const PredictorFields& fields,
                                                           const FieldNames& names);

// What was learned of the steps of a machine, of the models that ship.
Result<predict::MeasuredModel> steps_of_machine(std::string_view machine);
// "auto": what was learned of jobs, of the models that ship; otherwise a file.
Result<predict::JobUtilisationModel> job_utilisation_model(env::Env env, const std::string& choice);

// "uncalibrated", "by models of measurements", or how many of them are.
std::string calibration_text(std::size_t calibrated, std::size_t all);
std::string calibration_text(std::span<const PredictedRun> runs);

}  // namespace orrery::service
