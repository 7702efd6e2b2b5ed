#include "lab/commands/commands.h"

#include "cli/commands.h"

namespace orrery::lab {

namespace {

Status print_commands(cli::Context& context, const cli::Arguments&) {
  context.print("# Commands of the lab\n\nMade by `orrery-lab commands` from the option records of the program.\n");
  context.print(cli::reference_of("orrery-lab", cli::make_commands(lab_commands())));
  return {};
}

constexpr std::string_view kScore = "score";
constexpr std::string_view kRepeat = "repeat";
constexpr std::string_view kHelp = "help";

constexpr cli::CommandEntry kCommands[] = {
    {kScore, "evaluate", "predictions against measurements", evaluate_command},
    {kScore, "reference", "decisions against published simulators", reference_command},
    {kScore, "dataset check", "a data set against the program", dataset_check_command},
    {kRepeat, "experiment fragmentation", "published experiments of schedulers", experiment_fragmentation_command},
    {kRepeat, "experiment policies", "", experiment_policies_command},
    {kRepeat, "experiment optimus", "", experiment_optimus_command},
    {kRepeat, "experiment gandiva", "", experiment_gandiva_command},
    {kRepeat, "experiment prediction-error", "", experiment_prediction_error_command},
    {kRepeat, "experiment inputs", "", experiment_inputs_command},
    {kRepeat, "experiment all", "", experiment_all_command},
    {kRepeat, "plan loop", "published experiments of capacity planning", plan_loop_command},
    {kRepeat, "plan prototype", "", plan_prototype_command},
    {kHelp, "commands", "print the page of all commands", commands_command},
};

}  // namespace

cli::Command commands_command() {
  return {"commands",    "", 0, 0, "print the page of all commands", {}, {"orrery-lab commands > lab/docs/commands.md"},
          print_commands};
}

std::span<const cli::CommandEntry> lab_commands() {
  return kCommands;
}

}  // namespace orrery::lab
