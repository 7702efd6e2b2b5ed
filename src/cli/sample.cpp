#include "service/sample.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/terminal_watch.h"

namespace orrery::cli {

namespace {

Status run_sample(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::SampleRequest request, service::sample_fields().read(options));
  TerminalWatch watch(context.env);
  ORRERY_TRY(const service::SampleAnswer answer, service::sample(context.env, request, arguments.words, watch));
  const profile::Samples& samples = answer.samples;
  ORRERY_TRY_VOID(context.print_table(service::sample_table(samples), options));
  for (const std::string& note : samples.notes) {
    if (for_people(options)) context.print(fmt::format("note: {}\n", note));
  }
  if (!options.has("out")) return answer.ended;
  const std::string csv = profile::to_csv(samples.series, profile::first_time(samples.series));
  ORRERY_TRY_VOID(context.write_file(options.text("out"), csv, options));
  return answer.ended;
}

}  // namespace

Command sample_command() {
  return {"sample",
          "[-- COMMAND…]",
          0,
          1000,
          "sample CPU, memory, network, disk and GPU utilisation of the machine and of a command",
          join(join(service::sample_fields().records(),
                    {text_option("out", "", "write every value to this CSV file").in("FILE")}),
               table_options()),
          {"orrery sample --seconds 10 --period 10ms --out series.csv", "orrery sample -- orrery profile lenet",
           "orrery sample --pid 1 --seconds 1 --json"},
          run_sample};
}

}  // namespace orrery::cli
