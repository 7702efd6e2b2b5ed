#include "service/bursts.h"

#include "cli/commands.h"

namespace orrery::cli {

namespace {

Status run_bursts(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::BurstsRequest request, service::bursts_fields().read(options));
  ORRERY_TRY(const service::BurstsAnswer answer, service::find_bursts(context.env, request));
  ORRERY_TRY_VOID(context.print_table(service::bursts_table(answer), options));
  if (for_people(options)) context.print(service::bursts_text(answer));
  return {};
}

}  // namespace

Command bursts_command() {
  return {"bursts",
          "find the bursts and idle times in a series of samples",
          join(service::bursts_fields().records(), table_options()),
          {"orrery bursts gpu.csv --time Time --value Utilization",
           "orrery bursts gpu.csv --time Time --value Utilization --from 60 --to 120 --iteration 0.54 --json"},
          run_bursts};
}

}  // namespace orrery::cli
