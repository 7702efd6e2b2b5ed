#pragma once
// The options that choose the predictor.

#include <memory>

#include "cli/command.h"
#include "predict/jobs/job_utilisation_model.h"
#include "predict/predictor.h"
#include "predict/regression/run_facts.h"

namespace orrery::cli {

// --predictor, and --fact, which goes with it.
OptionRecord predictor_option();
OptionRecord fact_option();
// The predictor of --predictor, with the facts of --fact where the command has that option.
Result<std::unique_ptr<predict::Predictor>> chosen_predictor(env::Env env, const OptionValues& options);
// The one that --predictor calls so. `facts` are for a regression.
Result<std::unique_ptr<predict::Predictor>> named_predictor(env::Env env, const std::string& choice,
                                                            const predict::RunFacts& facts = {});

// What was learned of the steps of a machine, of the models that ship.
Result<predict::MeasuredModel> steps_of_machine(std::string_view machine);
// "auto": what was learned of jobs, of the models that ship; otherwise a file.
Result<predict::JobUtilisationModel> job_utilisation_model(env::Env env, const std::string& choice);

// "uncalibrated", "by models of measurements", or how many of them are.
std::string calibration_text(std::size_t calibrated, std::size_t all);
std::string calibration_text(std::span<const predict::Prediction> predictions);

}  // namespace orrery::cli
