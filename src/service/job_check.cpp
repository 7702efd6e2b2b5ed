#include "service/job_check.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace orrery::service {

using workload::JobFile;

const Fields<JobCheckRequest>& job_check_fields() {
  static const auto kFields = Fields<JobCheckRequest>().add(
      &JobCheckRequest::file, text_option("file", "", "job file").in("FILE").required().word());
  return kFields;
}

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
Result<std::vector<RunPoint>> check_runs(env::Env env, const JobFile& job, const FieldNames& names) {
  ORRERY_TRY(const NamedModel model, load_model(env, job));
  ORRERY_TRY(const TrainingFields training, training_fields().defaults());
  ORRERY_TRY(const GpuFields gpus, gpu_fields().defaults());
  ORRERY_TRY(std::vector<RunPoint> runs, runs_of(model, training, gpus, names));
  for (const RunPoint& point : runs) {
    const Status status = workload::validate(point.run);
    if (!status) return job.places.error("parallelism", status.error().message());
  }
  return runs;
}

}  // namespace

Result<JobCheckAnswer> check_job(env::Env env, const JobCheckRequest& request) {
  ORRERY_TRY(const JobFile job, read_job_file(env, request.file));
  JobCheckAnswer answer{job.spec, {}};
  if (job.spec.model.empty()) return answer;
  ORRERY_TRY(answer.runs, check_runs(env, job, request.names));
  return answer;
}

Table job_table(const workload::JobSpec& job) {
  Table table({{"field", "field"}, {"value", "value"}});
  add_fields(Json::parse(workload::to_json(job)), "", table);
  return table;
}

std::string run_text(const RunPoint& point, const workload::JobSpec& job) {
  const bool any_device = job.resources.front().device.empty();
  const int replicas = point.run.parallelism.data;
  std::string text =
      fmt::format("{} × {}: {} replica{}", point.placement.devices,
                  any_device ? "any device" : point.placement.device->name, replicas, replicas == 1 ? "" : "s");
  if (job.batch) text += fmt::format(" of batch {}", point.run.graph.batch());
  const bool has_length = job.steps || (job.epochs && job.batch);
  if (has_length) text += fmt::format(", {} steps", format_whole(point.run.steps));
  return text;
}

}  // namespace orrery::service
