#include "service/regress.h"

#include "cli/commands.h"

namespace orrery::cli {

namespace {

Status run_regress(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::RegressRequest request, service::regress_fields().read(arguments.options));
  ORRERY_TRY(const service::RegressAnswer answer, service::regress(context.env, request));
  ORRERY_TRY_VOID(context.print_table(service::regress_table(answer), arguments.options));
  if (for_people(arguments.options)) context.print(service::regress_text(answer));
  return {};
}

}  // namespace

Command regress_command() {
  return {"regress",
          "fit and judge regressions of a table of measurements",
          join(service::regress_fields().records(), table_options()),
          {"orrery regress examples/step_time.regress.ini"},
          run_regress};
}

}  // namespace orrery::cli
