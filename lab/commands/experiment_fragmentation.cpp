#include "cli/data_folder.h"
#include "lab/commands/commands.h"
#include "lab/experiments/saturation.h"
#include "lab/lab.h"

namespace orrery::lab {

using namespace cli;

namespace {

Status run_fragmentation(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const std::string folder = data_folder(context) + "/alibaba_gpu_2023/";
  const std::string machines =
      options.given("machines") ? options.text("machines") : folder + "openb_node_list_gpu_node.csv";
  const std::string pods = options.given("pods") ? options.text("pods") : folder + "openb_pod_list_default.csv";
  auto input = read_saturation(context.env.files, machines, pods);
  if (!input) {
    return std::move(input).error().with_context(
        "the Alibaba GPU 2023 lists are read from $ORRERY_DATA/data or from --machines and --pods");
  }
  SaturationOptions how;
  how.rules = options.texts("rule");
  how.seeds = static_cast<int>(options.integer("seeds"));
  how.moves_max = static_cast<int>(options.integer("moves"));
  how.threads = static_cast<int>(options.integer("threads"));
  ORRERY_TRY(const std::vector<SaturationRun> runs, run_saturation(*input, how));
  return context.print_table(to_table(runs, how), options);
}

}  // namespace

Command experiment_fragmentation_command() {
  return {
      "experiment fragmentation",
      "",
      0,
      0,
      "how much of a full cluster's GPUs no task can use, by the rule that places tasks",
      join({text_option("machines", "", "machines, as in the Alibaba GPU 2023 trace (default: that list)").in("FILE"),
            text_option("pods", "", "tasks to draw from, as in that trace (default: that list)").in("FILE"),
            text_option("rule", "first-fit,best-fit,fgd", "rules to compare").list(10),
            integer_option("seeds", 5, "draws of the tasks").bounds(1, 1000),
            integer_option("moves", 1000, "tasks that may be migrated in the end to free capacity").bounds(0, 100'000),
            integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256)},
           table_options()),
      {"orrery-lab experiment fragmentation",
       "orrery-lab experiment fragmentation --machines nodes.csv --pods pods.csv --rule best-fit,fgd --moves 0"},
      run_fragmentation};
}

}  // namespace orrery::lab
