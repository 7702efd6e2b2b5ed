#include "cli/data_folder.h"
#include "lab/commands/commands.h"
#include "lab/commands/experiment_report.h"
#include "lab/experiments/prediction_error.h"
#include "lab/lab.h"

namespace orrery::lab {

using namespace cli;

namespace {

Status run_prediction_error(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  PredictionErrorExperiment how;
  how.seeds = static_cast<int>(options.integer("seeds"));
  how.batch_jobs = static_cast<std::size_t>(options.integer("batch-jobs"));
  how.trace_jobs = static_cast<std::size_t>(options.integer("trace-jobs"));
  how.load = options.number("load");
  how.threads = static_cast<int>(options.integer("threads"));
  Progress progress("experiment", prediction_error_steps(), progress_options(context.env, "settings"));
  auto report =
      run_prediction_error_experiment(context.env.files, data_folder(context), how, [&] { progress.advance(1); });
  if (!report) return std::move(report).error().with_context("PAI and Philly jobs are read from $ORRERY_DATA/data");
  progress.finish();
  return print_report(context, *report, options);
}

}  // namespace

Command experiment_prediction_error_command() {
  return {"experiment prediction-error",
          "",
          0,
          0,
          "what good predictions are worth: AlloX and Hydra with wrong run times",
          join({integer_option("seeds", 10, "draws of the errors").bounds(1, 1000),
                integer_option("batch-jobs", 400, "PAI jobs").bounds(2, 5000),
                integer_option("trace-jobs", 1000, "Philly jobs").bounds(2, 100'000),
                number_option("load", 1.1, "load of the Philly jobs").bounds(0.01, 100),
                integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256)},
               report_options()),
          {"orrery-lab experiment prediction-error", "orrery-lab experiment prediction-error --seeds 3 --json"},
          run_prediction_error};
}

}  // namespace orrery::lab
