#pragma once
// The options that choose who predicts.

#include <memory>

#include "cli/command.h"
#include "predict/predictor.h"

namespace orrery::cli {

// --with.
OptionRecord predictor_option();
// The predictor of --with.
Result<std::unique_ptr<predict::Predictor>> chosen_predictor(env::Env env, const OptionValues& options);

// "uncalibrated", "by models of measurements", or how many of them are.
std::string calibration_text(std::size_t calibrated, std::size_t all);
std::string calibration_text(std::span<const predict::Prediction> predictions);

}  // namespace orrery::cli
