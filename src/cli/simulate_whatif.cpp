#include "service/simulate_whatif.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/terminal_watch.h"

namespace orrery::cli {

namespace {

Status run_whatif(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::SimulateWhatifRequest request, service::simulate_whatif_fields().read(options));
  TerminalWatch watch(context.env);
  ORRERY_TRY(const service::SimulateWhatifAnswer answer, service::simulate_whatif(context.env, request, watch));
  if (for_people(options)) {
    const simulate::JobTrace& job_trace = answer.file.job_trace;
    context.print(fmt::format("{} jobs of {} ({}) on {} under {}\n\n",
                              format_whole(static_cast<double>(job_trace.jobs.size())), job_trace.name,
                              answer.file.format, answer.cluster, request.now.policy));
  }
  ORRERY_TRY_VOID(context.print_table(service::simulate_whatif_table(answer), options));
  const std::string problems = service::problems_text(answer.file, 5);
  if (for_people(options) && !problems.empty()) context.print("\n" + problems);
  return service::failure_of(answer);
}

}  // namespace

Command simulate_whatif_command() {
  return {"simulate whatif",
          "show what more GPUs, another policy, worse predictions or failures would do to the jobs of a trace",
          join(service::simulate_whatif_fields().records(), table_options()),
          {"orrery simulate whatif jobs.csv --cluster 32x8 --policy fifo",
           "orrery simulate whatif jobs.csv --cluster 32x8 cluster=40x8 policy=srtf mtbf=30d+checkpoint=1h --seeds 5"},
          run_whatif};
}

}  // namespace orrery::cli
