#pragma once
// The options that ask when a training will have converged, and the question they make.

#include "cli/command.h"
#include "predict/scaling/loss_file.h"
#include "predict/scaling/steps_estimate.h"

namespace orrery::cli {

// --target, --threshold, --window.
std::vector<OptionRecord> steps_question_options();
// Without --window it is ten times the distance between two losses.
predict::StepsQuestion steps_question(const predict::LossFile& losses, const OptionValues& options);
// "the loss is 0.3 or less", for people.
std::string question_text(const predict::StepsQuestion& question, const predict::LossFile& losses);

}  // namespace orrery::cli
