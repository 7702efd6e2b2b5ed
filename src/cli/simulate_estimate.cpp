#include "service/simulate_estimate.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"

namespace orrery::cli {

namespace {

using service::EstimateRequest;

Status run_replay(Context& context, const EstimateRequest& request, const OptionValues& options) {
  ORRERY_TRY(const service::ReplayAnswer answer, service::replay_estimates(context.env, request));
  if (for_people(options)) {
    context.print(fmt::format("{} on {} under {}: estimates at submission beside what then happened\n\n", answer.trace,
                              answer.cluster.text, request.on.policy));
  }
  return context.print_table(service::replay_table(answer), options);
}

void print_heading(Context& context, const service::EstimateAnswer& answer, const std::string& policy) {
  context.print(fmt::format("{} jobs on {} under {}; intervals are to hold 80 %\n", answer.queue.jobs.size(),
                            answer.cluster.text, policy));
  if (answer.queue.ended > 0) {
    context.print(fmt::format("{} jobs of the file have ended and are left out; --history learns from them\n",
                              format_whole(static_cast<double>(answer.queue.ended))));
  }
  context.print("\n");
}

Status run_estimate(Context& context, const Arguments& arguments) {
  const OptionValues& options = arguments.options;
  ORRERY_TRY(const EstimateRequest request, service::estimate_fields().read(options));
  if (request.replay) return run_replay(context, request, options);
  ORRERY_TRY(const service::EstimateAnswer answer, service::estimate(context.env, request));
  if (for_people(options)) print_heading(context, answer, request.on.policy);
  ORRERY_TRY_VOID(context.print_table(service::estimate_table(answer), options));
  if (!for_people(options)) return {};
  if (!answer.queue.problems.empty()) context.print("\n" + answer.queue.problems);
  if (answer.explanation) context.print("\n" + service::explanation_text(answer));
  return {};
}

}  // namespace

Command simulate_estimate_command() {
  return {"simulate estimate",
          "estimate when the jobs of a queue start and end, with intervals, and explain what a job waits for",
          join(service::estimate_fields().records(), table_options()),
          {"orrery simulate estimate queue.csv --cluster 32x8 --history last-month.csv --explain job-17",
           "orrery simulate estimate last-month.csv --cluster 32x8 --replay 300"},
          run_estimate};
}

}  // namespace orrery::cli
