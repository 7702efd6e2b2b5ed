#include "lab/commands/commands.h"

#include "cli/commands.h"

namespace orrery::lab {

namespace {

Status print_commands(cli::Context& context, const cli::Arguments&) {
  context.print("# Commands of the lab\n\nMade by `orrery-lab commands` from the option records of the program.\n");
  context.print(cli::reference_of("orrery-lab", lab_commands()));
  return {};
}

}  // namespace

cli::Command commands_command() {
  return {"commands",    "", 0, 0, "print the page of all commands", {}, {"orrery-lab commands > lab/docs/commands.md"},
          print_commands};
}

const std::vector<cli::Command>& lab_commands() {
  static const std::vector<cli::Command> kCommands = {evaluate_command(),
                                                      reference_command(),
                                                      experiment_fragmentation_command(),
                                                      experiment_policies_command(),
                                                      experiment_optimus_command(),
                                                      experiment_gandiva_command(),
                                                      experiment_prediction_error_command(),
                                                      experiment_all_command(),
                                                      plan_loop_command(),
                                                      plan_prototype_command(),
                                                      dataset_check_command(),
                                                      commands_command()};
  return kCommands;
}

}  // namespace orrery::lab
