#pragma once
// The commands of orrery-lab, one function per file of this folder. lab_commands() is the list that the program and its
// page of commands are made from.

#include "cli/main.h"

namespace orrery::lab {

cli::Command evaluate_command();
cli::Command reference_command();
cli::Command experiment_fragmentation_command();
cli::Command experiment_policies_command();
cli::Command experiment_optimus_command();
cli::Command experiment_gandiva_command();
cli::Command experiment_prediction_error_command();
cli::Command experiment_inputs_command();
cli::Command experiment_all_command();
cli::Command plan_loop_command();
cli::Command plan_prototype_command();
cli::Command dataset_check_command();
cli::Command commands_command();

std::span<const cli::CommandEntry> lab_commands();

}  // namespace orrery::lab
