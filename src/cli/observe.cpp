#include "service/observe.h"

#include <fmt/format.h>

#include "cli/commands.h"

namespace orrery::cli {

namespace {

Status run_observe(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::ObserveRequest request, service::observe_fields().read(options));
  ORRERY_TRY(const service::ObserveAnswer answer, service::observe(context.env, request));
  ORRERY_TRY_VOID(context.print_table(service::observe_table(answer), options));
  if (!for_people(options)) return {};
  context.print(service::observe_text(answer));
  context.print(answer.correction ? fmt::format("\n`orrery predict … --observed {}` corrects by it\n", request.file)
                                  : fmt::format("\n{} runs are needed before predictions are corrected\n",
                                                predict::kObservationsMin));
  return {};
}

}  // namespace

Command observe_command() {
  return {"observe",
          "keep the measured time of a run beside its prediction, and correct later predictions by it",
          join(service::observe_fields().records(), table_options()),
          {"orrery observe observed.jsonl resnet50 --device V100 --batch 64 --measured 190ms",
           "orrery observe observed.jsonl resnet50 --device V100 --batch 64 --measured 190ms --losses losses.csv "
           "--target 2.1"},
          run_observe};
}

}  // namespace orrery::cli
