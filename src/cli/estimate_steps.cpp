#include "cli/commands.h"
#include "service/steps.h"

namespace orrery::cli {

namespace {

Status run_estimate_steps(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::StepsRequest request, service::estimate_steps_fields().read(options));
  ORRERY_TRY(const service::StepsAnswer answer, service::estimate_steps(context.env, request));
  if (for_people(options)) {
    context.print(service::steps_text(answer));
  } else {
    ORRERY_TRY_VOID(context.print_table(service::steps_table(answer), options));
  }
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"), service::steps_plot(answer), options);
}

}  // namespace

Command estimate_steps_command() {
  return {"estimate-steps",
          "estimate how many steps a training needs from the losses so far, by Optimus's curve",
          join(join(service::estimate_steps_fields().records(),
                    {text_option("plot", "", "write an SVG of the losses and the curve").in("FILE.svg")}),
               table_options()),
          {"orrery estimate-steps losses.csv --target 0.3",
           "orrery estimate-steps losses.csv --threshold 0.01 --window 1000 --plot losses.svg",
           "orrery estimate-steps losses.csv --target 0.3 --steps-per-epoch 5004 --json"},
          run_estimate_steps};
}

}  // namespace orrery::cli
