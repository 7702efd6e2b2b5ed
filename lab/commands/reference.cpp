#include "lab/reference/reference.h"

#include <fmt/format.h>

#include "cli/data_folder.h"
#include "env/clock.h"
#include "lab/commands/commands.h"

namespace orrery::lab {

namespace {

Status run_reference_command(cli::Context& context, const cli::Arguments& arguments) {
  const OptionValues& options = arguments.options;
  const ReferenceInput input{.files = context.env.files,
                             .now_s = [&] { return context.env.clock.monotonic().value(); },
                             .folder = arguments.words[0],
                             .data = options.text("data"),
                             .fallback = cli::data_folder(context),
                             .machines = options.text("machines")};
  ORRERY_TRY(const ReferenceReport report, run_reference(input));
  if (options.flag("json")) {
    context.print(to_json(report));
  } else {
    ORRERY_TRY_VOID(context.print_table(to_table(report), options));
  }
  if (cli::for_people(options)) {
    context.print(
        fmt::format("\n{} cases of kind {}, {} not run\n", report.cases.size(), report.kind, report.not_run()));
  }
  if (report.failed() == 0) return {};
  return Error::infeasible(fmt::format("{} of {} cases miss their target", report.failed(), report.cases.size()));
}

}  // namespace

cli::Command reference_command() {
  return {"reference",
          "FOLDER",
          1,
          1,
          "run the cases of published simulators, solvers and real clusters, and compare their results with ours",
          cli::join({text_option("data", "", "folder with inputs that are not in FOLDER").in("DIR"),
                     text_option("machines", "A100=10,V100=20,GTX2080Ti=15", "machines of the cases of AlloX and Hydra")
                         .in("TYPE=COUNT,…")},
                    cli::table_options()),
          {"orrery-lab reference ../shared/oracles/sched_tiresias_sim --json"},
          run_reference_command};
}

}  // namespace orrery::lab
