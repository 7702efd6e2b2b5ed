#include "cli/data_folder.h"
#include "lab/commands/commands.h"
#include "lab/commands/experiment_report.h"
#include "lab/experiments/job_inputs.h"
#include "lab/lab.h"
#include "simulate/runner.h"

namespace orrery::lab {

using namespace cli;

namespace {

Status run_inputs(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  JobInputsExperiment how;
  how.policies = options.texts("policy");
  how.hurry = options.number("hurry");
  how.threads = static_cast<int>(options.integer("threads"));
  ORRERY_TRY_VOID(simulate::check_policies(how.policies));
  Progress progress("experiment", job_inputs_steps(how), progress_options(context.env, "runs"));
  auto report = run_job_inputs_experiment(context.env.files, data_folder(context), how, [&] { progress.advance(1); });
  if (!report) return std::move(report).error().with_context("jobs and step times are read from $ORRERY_DATA/data");
  progress.finish();
  return print_report(context, *report, options);
}

}  // namespace

Command experiment_inputs_command() {
  return {"experiment inputs",
          "",
          0,
          0,
          "what it costs policies to know of jobs what a real cluster can know",
          join({text_option("policy", "srtf,optimus,pollux,sia,flow", "policies to run").in("NAME").list(),
                number_option("hurry", 1, "jobs come this many times as fast").bounds(0.01, 100),
                integer_option("threads", 2, "simulations to run in parallel").bounds(1, 256)},
               report_options()),
          {"orrery-lab experiment inputs", "orrery-lab experiment inputs --policy flow --json"},
          run_inputs};
}

}  // namespace orrery::lab
