#include <fmt/format.h>

#include "env/clock.h"
#include "env/files.h"
#include "lab/commands/commands.h"
#include "lab/lab.h"

namespace orrery::lab {

using namespace cli;

namespace {

struct Experiment {
  const char* name;
  Command (*command)();
  std::vector<std::string> words;  // options it is run with, beside those for figures
  const char* figures;             // the option for them; "": it draws none
  bool one_figure = false;         // the option names a file, and not a folder
};

// The rules of the Politecnico line (FIFO, earliest due date, priority) against renting by plan are `plan loop`.
std::vector<Experiment> experiments() {
  return {{"optimus", experiment_optimus_command, {}, "--plots"},
          {"gandiva", experiment_gandiva_command, {}, "--plots"},
          {"prediction-error", experiment_prediction_error_command, {}, "--plots"},
          {"rent", plan_loop_command, {"--nodes", "2,5", "--gap", "30,45,6000", "--heuristic"}, "--plot", true},
          {"fragmentation", experiment_fragmentation_command, {}, ""}};
}

Status run_one(Context& context, const Experiment& experiment, const std::string& folder) {
  const Command command = experiment.command();
  std::vector<std::string> words = experiment.words;
  if (*experiment.figures != 0 && !folder.empty()) {
    words.emplace_back(experiment.figures);
    words.push_back(experiment.one_figure ? fmt::format("{}/{}.svg", folder, experiment.name) : folder);
  }
  std::string line = "orrery " + command.name;
  for (const std::string& word : words) line += " " + word;
  context.print(fmt::format("=== {} ({})\n\n", experiment.name, line));
  ORRERY_TRY(const Arguments arguments, parse_arguments(command, words));
  const double start = context.env.clock.monotonic().value();
  auto status = command.run(context, arguments);
  if (!status) return std::move(status).error().with_context(experiment.name);
  context.print(fmt::format("\ntook {:.0f} s\n\n", context.env.clock.monotonic().value() - start));
  return {};
}

Status run_all(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string folder = options.has("plots") ? options.text("plots") : "";
  if (!folder.empty()) {
    ORRERY_TRY_VOID(context.env.files.make_directory(folder));
  }
  for (const Experiment& experiment : experiments()) {
    ORRERY_TRY_VOID(run_one(context, experiment, folder));
  }
  return {};
}

}  // namespace

Command experiment_all_command() {
  return {"experiment all",
          "",
          0,
          0,
          "every published experiment, one after the other (experiment policies is ours and takes longer)",
          {text_option("plots", "", "write the figures as SVG into this folder").in("DIR")},
          {"orrery-lab experiment all --plots figures"},
          run_all};
}

}  // namespace orrery::lab
