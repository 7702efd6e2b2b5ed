#include "lab/commands/commands.h"
#include "lab/commands/experiment_report.h"
#include "lab/experiments/optimus.h"
#include "lab/lab.h"

namespace orrery::lab {

using namespace cli;

namespace {

Status run_optimus(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  OptimusExperiment how;
  how.seeds = static_cast<int>(options.integer("seeds"));
  how.jobs = static_cast<int>(options.integer("jobs"));
  how.load = options.number("load");
  how.restart_s = options.duration("restart").value();
  how.threads = static_cast<int>(options.integer("threads"));
  Progress progress("experiment", optimus_experiment_steps(), progress_options(context.env, "settings"));
  ORRERY_TRY(const ExperimentReport report, run_optimus_experiment(how, [&] { progress.advance(1); }));
  progress.finish();
  return print_report(context, report, options);
}

}  // namespace

Command experiment_optimus_command() {
  return {"experiment optimus",
          "",
          0,
          0,
          "Optimus against DRF and Tetris, as published: gains, errors, restarts",
          join({integer_option("seeds", 10, "draws of the jobs").bounds(1, 1000),
                integer_option("jobs", 100, "jobs of each draw").bounds(2, 10'000),
                number_option("load", 1, "GPU time asked for, of what there is while jobs come").bounds(0.01, 100),
                duration_option("restart", "30s", "without work after a suspension, move or change of GPUs"),
                integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256)},
               report_options()),
          {"orrery-lab experiment optimus", "orrery-lab experiment optimus --seeds 3 --plots figures"},
          run_optimus};
}

}  // namespace orrery::lab
