#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/commands.h"
#include "service/runs.h"

namespace orrery::cli {

using service::RunPoint;
using workload::JobFile;

namespace {

using Json = nlohmann::ordered_json;

std::string value_text(const Json& value) {
  if (value.is_array()) return fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), " "));
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// One row per field, by its path.
void add_fields(const Json& json, const std::string& path, Table& table) {
  const bool has_objects = json.is_array() && json[0].is_object();
  if (json.is_object() || has_objects) {
    for (const auto& [name, value] : json.items()) {
      const std::string step = json.is_array() ? fmt::format("[{}]", name) : path.empty() ? name : "." + name;
      add_fields(value, path + step, table);
    }
    return;
  }
  table.add({path, value_text(json)});
}

// Every run the job asks for, or why one is impossible.
Result<std::vector<RunPoint>> check_runs(Context& context, const JobFile& job) {
  ORRERY_TRY(const service::NamedModel model, service::load_model(context.env, job));
  ORRERY_TRY(const service::TrainingFields training, service::training_fields().defaults());
  ORRERY_TRY(const service::GpuFields gpus, service::gpu_fields().defaults());
  ORRERY_TRY(std::vector<RunPoint> runs, service::runs_of(model, training, gpus, FieldNames::of_words()));
  for (const RunPoint& point : runs) {
    const Status status = workload::validate(point.run);
    if (!status) return job.places.error("parallelism", status.error().message());
  }
  return runs;
}

// What the job states about a run, without the defaults of the commands.
std::string run_text(const RunPoint& point, const workload::JobSpec& job) {
  const bool any_device = job.resources.front().device.empty();
  const int replicas = point.run.parallelism.data;
  std::string text =
      fmt::format("{} × {}: {} replica{}", point.placement.devices,
                  any_device ? "any device" : point.placement.device->name, replicas, replicas == 1 ? "" : "s");
  if (job.batch) text += fmt::format(" of batch {}", point.run.graph.batch());
  const bool has_length = job.steps || (job.epochs && job.batch);
  if (has_length) text += fmt::format(", {} steps", format_whole(point.run.steps));
  return text + "\n";
}

Status run_job_check(Context& context, const Arguments& arguments) {
  ORRERY_TRY(const JobFile job, service::read_job_file(context.env, arguments.words[0]));
  std::vector<RunPoint> runs;
  if (!job.spec.model.empty()) {
    ORRERY_TRY(runs, check_runs(context, job));
  }
  if (arguments.options.flag("json")) {
    context.print(workload::to_json(job.spec));
    return {};
  }
  Table table({{"field", "field"}, {"value", "value"}});
  add_fields(Json::parse(workload::to_json(job.spec)), "", table);
  context.print(table.to_text());
  if (!runs.empty()) context.print("\nruns on\n");
  for (const RunPoint& point : runs) context.print("  " + run_text(point, job.spec));
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
          "FILE",
          1,
          1,
          "check a job file and show the job it describes",
          {flag_option("json", "print JSON")},
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
