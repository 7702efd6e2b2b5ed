#include "cli/data_folder.h"
#include "lab/commands/commands.h"
#include "lab/commands/experiment_report.h"
#include "lab/experiments/gandiva.h"
#include "lab/lab.h"

namespace orrery::lab {

using namespace cli;

namespace {

constexpr int kVariants = 4;

Status run_gandiva(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  GandivaExperiment how;
  how.seeds = static_cast<int>(options.integer("seeds"));
  how.jobs = static_cast<int>(options.integer("jobs"));
  how.load = options.number("load");
  how.threads = static_cast<int>(options.integer("threads"));
  const std::string pairs = options.has("pairs") ? options.text("pairs") : data_folder(context) + "/lucid_colocation";
  Progress progress("experiment", kVariants * how.seeds, progress_options(context.env, "runs"));
  auto report = run_gandiva_experiment(context.env.files, pairs, how, [&] { progress.advance(1); });
  if (!report) {
    return std::move(report).error().with_context("measured pairs are read from $ORRERY_DATA/data or from --pairs");
  }
  progress.finish();
  return print_report(context, *report, options);
}

}  // namespace

Command experiment_gandiva_command() {
  return {"experiment gandiva",
          "",
          0,
          0,
          "what Gandiva's paper shows: turns, packing, moves, growth, a crowded cluster",
          join({integer_option("seeds", 5, "draws of the jobs of the crowded cluster").bounds(1, 1000),
                integer_option("jobs", 3000, "jobs of each draw").bounds(2, 100'000),
                number_option("load", 3, "GPU time asked for, of what there is while jobs come").bounds(0.01, 100),
                text_option("pairs", "", "folder of measured pairs (default: lucid_colocation of the data)").in("DIR"),
                integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256)},
               report_options()),
          {"orrery-lab experiment gandiva", "orrery-lab experiment gandiva --seeds 1 --plots figures"},
          run_gandiva};
}

}  // namespace orrery::lab
