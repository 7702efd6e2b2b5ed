#include "service/fit.h"

#include "cli/commands.h"
#include "cli/terminal_watch.h"

namespace orrery::cli {

namespace {

Status run_fit(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::FitRequest request, service::fit_fields().read(arguments.options));
  TerminalWatch watch(context.env);
  ORRERY_TRY(const service::FitAnswer answer, service::fit(context.env, request, watch));
  ORRERY_TRY_VOID(context.print_table(answer.table, arguments.options));
  if (for_people(arguments.options)) context.print(answer.text);
  return {};
}

}  // namespace

Command fit_command() {
  return {"fit",
          "learn a model of times or of resources from measurements, and write it into a file that `orrery predict "
          "--predictor FILE` reads",
          join(service::fit_fields().records(), table_options()),
          {"orrery fit cpu.dataset --out cpu.model", "orrery fit jobs.dataset --out jobs.model",
           "orrery fit ../shared/data/ets_traces --device T4 --out t4.model",
           "orrery fit ../shared/data/neusight --out operators.model",
           "orrery fit ../shared/data/ets_traces --form ets-network --device T4 --steps 2000 --keep training --out "
           "t4-ets.model",
           "orrery fit examples/step_time.regress.ini --form regression --out step.model",
           "orrery fit ../shared/data/driple/gpumemnet --form driple --out resources.model"},
          run_fit};
}

}  // namespace orrery::cli
