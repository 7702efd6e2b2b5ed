#include "cli/commands.h"
#include "service/job_check.h"

namespace orrery::cli {

namespace {

Status run_job_check(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const service::JobCheckRequest request, service::job_check_fields().read(arguments.options));
  ORRERY_TRY(const service::JobCheckAnswer answer, service::check_job(context.env, request));
  if (arguments.options.flag("json")) {
    context.print(workload::to_json(answer.spec));
    return {};
  }
  context.print(service::job_table(answer.spec).to_text());
  if (!answer.runs.empty()) context.print("\nruns on\n");
  for (const service::RunPoint& point : answer.runs) {
    context.print("  " + service::run_text(point, answer.spec) + "\n");
  }
  return {};
}

Status run_job_schema(Context& context, const Arguments& arguments) {
  context.print(arguments.options.text("format") == "markdown" ? markdown_fields(workload::job_options())
                                                               : workload::job_schema());
  return {};
}

}  // namespace

Command job_check_command() {
  return {"job check",
          "check a job file and show the job it describes",
          join(service::job_check_fields().records(), {flag_option("json", "print JSON")}),
          {"orrery job check job.yaml", "orrery job check job.yaml --json"},
          run_job_check};
}

Command job_schema_command() {
  return {"job schema",
          "",
          0,
          0,
          "print the JSON Schema of job files",
          {choice_option("format", "schema", {"schema", "markdown"}, "JSON Schema, or a table of the fields")},
          {"orrery job schema > job.schema.json", "orrery job schema --format markdown"},
          run_job_schema};
}

}  // namespace orrery::cli
