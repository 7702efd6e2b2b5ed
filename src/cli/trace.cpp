#include <fmt/format.h>

#include "cli/commands.h"
#include "env/files.h"
#include "service/trace_plot.h"
#include "service/traces.h"

namespace orrery::cli {

namespace {

Status print_answer(Context& context, const service::TraceAnswer& answer, const OptionValues& options) {
  ORRERY_TRY_VOID(context.print_table(answer.table, options));
  if (!for_people(options)) return {};
  context.print(answer.totals);
  for (const std::string& line : answer.warnings) context.print(line);
  return {};
}

Status run_trace_show(Context& context, const Arguments& arguments) {
  constexpr std::int64_t kRowsForPeople = 20;
  ORRERY_TRY(service::TraceShowRequest request, service::trace_show_fields().read(arguments.options));
  if (!request.top && for_people(arguments.options)) request.top = kRowsForPeople;
  ORRERY_TRY(const service::TraceAnswer answer, service::show_trace(context.env, request));
  return print_answer(context, answer, arguments.options);
}

Status run_trace_summary(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::TraceSummaryRequest request, service::trace_summary_fields().read(arguments.options));
  ORRERY_TRY(const service::TraceAnswer answer, service::summarise_traces(context.env, request));
  return print_answer(context, answer, arguments.options);
}

Status run_trace_convert(Context& context, const Arguments& arguments) {
  ORRERY_TRY(service::TraceConvertRequest request, service::trace_convert_fields().read(arguments.options));
  const std::string& to = arguments.options.text("out");
  if (!request.to) {
    ORRERY_TRY(request.to, service::trace_form(to));
  }
  ORRERY_TRY(const std::string content, service::convert_trace(context.env, request));
  ORRERY_TRY_VOID(context.env.files.write_atomically(to, content));
  context.print(fmt::format("wrote {}\n", to));
  return {};
}

Status run_trace_compare(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::TraceCompareRequest request, service::trace_compare_fields().read(options));
  ORRERY_TRY(const service::TraceComparison both, service::compare_traces(context.env, request));
  ORRERY_TRY_VOID(context.print_table(both.table, options));
  if (options.text("plot").empty()) return {};
  return context.write_file(options.text("plot"),
                            service::plot_traces(request.first, both.first, request.second, both.second), options);
}

}  // namespace

Command trace_show_command() {
  return {"trace show",
          "list the operators of an execution trace by phase, longest first",
          join(service::trace_show_fields().records(), table_options()),
          {"orrery trace show trace.json.gz", "orrery trace show trace.json --iteration 2 --in-order --top 50",
           "orrery trace show run.trace.json --csv"},
          run_trace_show};
}

Command trace_summary_command() {
  return {"trace summary",
          "show where the time of every iteration of an execution trace went",
          join(service::trace_summary_fields().records(), table_options()),
          {"orrery trace summary trace.json.gz", "orrery trace summary rank0.json rank1.json --json",
           "orrery trace summary trace.json --streams"},
          run_trace_summary};
}

Command trace_convert_command() {
  return {"trace convert",
          "convert an execution trace to the format of Chrome, Perfetto or Orrery",
          join(service::trace_convert_fields().records(),
               {text_option("out", "", "file to write").in("OUT").required().word()}),
          {"orrery trace convert trace.json.gz trace.pftrace", "orrery trace convert trace.json.gz steps.trace.json",
           "orrery trace convert steps.trace.json view.json --to chrome"},
          run_trace_convert};
}

Command trace_compare_command() {
  return {"trace compare",
          "compare the time per kind of operator and phase in two execution traces",
          join(join(service::trace_compare_fields().records(),
                    {text_option("plot", "", "draw both traces as SVG, one above the other").in("FILE")}),
               table_options()),
          {"orrery trace compare before.json.gz after.json.gz",
           "orrery trace compare predicted.trace.json measured.trace.json --plot both.svg",
           "orrery trace compare a.trace.json b.trace.json --iteration 1 --json"},
          run_trace_compare};
}

}  // namespace orrery::cli
