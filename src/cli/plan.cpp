#include "service/plan.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "env/files.h"

namespace orrery::cli {

namespace {

Status print_explanation(Context& context, const service::PlanAnswer& answer, const OptionValues& options) {
  auto table = service::explain_plan(answer, options.text("explain"));
  if (!table) return std::move(table).error().with_context("--explain");
  context.print(options.flag("json") ? table->to_json() + "\n" : table->to_text());
  return {};
}

Status run_plan(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const service::PlanRequest request, service::plan_fields().read(options));
  ORRERY_TRY(const service::PlanAnswer answer, service::plan(context.env, request));
  if (!options.text("explain").empty()) return print_explanation(context, answer, options);
  const bool as_json = options.flag("json");
  context.print(as_json ? service::plan_json(answer) : service::plan_text(answer));
  const std::string& gantt = options.text("gantt");
  if (gantt.empty() || !request.instance.empty()) return {};
  ORRERY_TRY_VOID(context.env.files.write_atomically(gantt, service::plan_gantt(answer)));
  if (!as_json) context.print(fmt::format("\nwrote {}\n", gantt));
  return {};
}

}  // namespace

Command plan_command() {
  return {"plan",
          "plan which machines to rent for which jobs, with the cost and a lower bound on it",
          join(service::plan_fields().records(),
               {text_option("explain", "", "show what every choice would cost this job, and which was taken").in("JOB"),
                text_option("gantt", "", "draw which job runs on which machine over time as SVG").in("FILE"),
                flag_option("json", "print JSON")}),
          {"orrery plan examples/jobs.yaml --nodes 2 --gantt plan.svg", "orrery plan --instance examples/plan.json",
           "orrery plan --instance examples/plan.json --objective rho --json",
           "orrery plan --instance examples/plan.json --explain J3",
           "orrery plan --instance examples/plan_limits.json --heuristic",
           "orrery plan examples/horizon.yaml --horizon 72h --period 2h --nodes 4",
           "orrery plan examples/horizon.yaml --horizon 72h --period 2h --cost carbon --certainty 0.8 --json"},
          run_plan};
}

}  // namespace orrery::cli
