#include "service/dataset.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/terminal_watch.h"

namespace orrery::cli {

namespace {

void print_failures(Context& context, const std::vector<std::string>& failures) {
  for (const std::string& failure : failures) context.print(fmt::format("left out: {}\n", failure));
}

std::string disturbed_words(std::size_t count) {
  return count == 0 ? "" : fmt::format(", {} of these beside other programs that used the processor", count);
}

Status run_build(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::DatasetBuildRequest request, service::dataset_build_fields().read(arguments.options));
  TerminalWatch watch(context.env);
  ORRERY_TRY(const profile::BuildReport built, service::build_dataset(context.env, request, watch));
  context.print(fmt::format("{}: {} configurations, {} of all noisy, {} visits now{}\n", request.file, built.entries,
                            built.noisy, built.visits, disturbed_words(built.disturbed)));
  print_failures(context, built.failures);
  return {};
}

Status run_jobs(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::DatasetJobsRequest request, service::dataset_jobs_fields().read(arguments.options));
  TerminalWatch watch(context.env);
  ORRERY_TRY(const profile::JobsReport built, service::build_job_dataset(context.env, request, watch));
  context.print(fmt::format("{}: {} jobs, {} of them now{}\n", request.file, built.jobs, built.now,
                            disturbed_words(built.disturbed)));
  print_failures(context, built.failures);
  return {};
}

Status run_show(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::DatasetShowRequest request, service::dataset_show_fields().read(arguments.options));
  ORRERY_TRY(const service::DatasetSummary summary, service::show_dataset(context.env, request));
  if (for_people(arguments.options)) context.print(summary.text);
  return context.print_table(summary.table, arguments.options);
}

}  // namespace

Command dataset_build_command() {
  return {"dataset build",
          "measure random training configurations of the zoo and collect them in one file",
          service::dataset_build_fields().records(),
          {"orrery dataset build cpu.dataset", "orrery dataset build cpu.dataset --count 2000 --time 1h"},
          run_build};
}

Command dataset_show_command() {
  return {"dataset show",
          "summarise a data set by family or by setting",
          join(service::dataset_show_fields().records(), table_options()),
          {"orrery dataset show cpu.dataset", "orrery dataset show cpu.dataset --json"},
          run_show};
}

Command dataset_jobs_command() {
  return {"dataset jobs",
          "run random data-parallel jobs and record their processor, memory and network utilisation",
          service::dataset_jobs_fields().records(),
          {"orrery dataset jobs jobs.dataset", "orrery dataset jobs jobs.dataset --count 400 --time 1h"},
          run_jobs};
}

}  // namespace orrery::cli
