#include "service/simulate_compare.h"

#include "cli/commands.h"

namespace orrery::cli {

namespace {

Status run_compare(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::CompareRunsRequest request, service::compare_runs_fields().read(arguments.options));
  ORRERY_TRY(const Table table, service::compare_runs(context.env, request));
  return context.print_table(table, arguments.options);
}

}  // namespace

Command simulate_compare_command() {
  return {"simulate compare",
          "compare runs that `orrery simulate --json` wrote",
          join(service::compare_runs_fields().records(), table_options()),
          {"orrery simulate compare monday.json tuesday.json"},
          run_compare};
}

}  // namespace orrery::cli
