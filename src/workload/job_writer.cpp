#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "workload/job_file.h"

namespace orrery::workload {

namespace {

using Json = nlohmann::ordered_json;

// Sets the field unless it has the value it would have anyway.
template <class Value>
void put(Json& json, const char* name, const Value& value, const Value& usual) {
  if (!(value == usual)) json[name] = value;
}

template <class Value>
void put(Json& json, const char* name, const std::optional<Value>& value) {
  if (value) json[name] = *value;
}

// Whole numbers without ".0".
Json number_json(double number) {
  const bool is_whole = number == std::floor(number) && std::abs(number) < 1e15;
  return is_whole ? Json(static_cast<std::int64_t>(number)) : Json(number);
}

void put_group(Json& json, const char* name, Json group) {
  if (!group.empty()) json[name] = std::move(group);
}

Json train_json(const JobSpec& job) {
  Json json = Json::object();
  put(json, "batch", job.batch);
  put(json, "optimizer", to_string(job.optimizer), to_string(JobSpec().optimizer));
  if (job.precision) json["precision"] = to_string(*job.precision);
  put(json, "steps", job.steps);
  if (job.epochs) json["epochs"] = number_json(*job.epochs);
  put(json, "dataset_size", job.dataset_size);
  return json;
}

Json request_json(const DeviceRequest& request) {
  Json json = Json::object();
  put(json, "device", request.device, std::string());
  const DeviceCount& count = request.count;
  json["count"] = count.is_range() ? Json{{"min", count.min}, {"max", count.max}} : Json(count.min);
  return json;
}

Json resources_json(const JobSpec& job) {
  if (job.resources.size() == 1) return request_json(job.resources.front());
  Json list = Json::array();
  for (const DeviceRequest& request : job.resources) list.push_back(request_json(request));
  return {{"any_of", std::move(list)}};
}

Json parallelism_json(const JobSpec& job) {
  const Parallelism& p = job.parallelism;
  const Parallelism usual;
  Json json = Json::object();
  put(json, "data", job.replicas);
  put(json, "tensor", p.tensor, usual.tensor);
  put(json, "pipeline", p.pipeline, usual.pipeline);
  put(json, "microbatches", p.microbatches, usual.microbatches);
  put(json, "zero", p.zero_stage, usual.zero_stage);
  put(json, "exchange", to_string(p.exchange), to_string(usual.exchange));
  put(json, "servers", p.servers, usual.servers);
  return json;
}

Json job_json(const JobSpec& job) {
  Json json = {{"job", job.name}};
  put(json, "model", job.model, std::string());
  put(json, "command", job.command, {});
  put_group(json, "train", train_json(job));
  put_group(json, "resources", resources_json(job));
  put_group(json, "parallelism", parallelism_json(job));
  put(json, "elastic", job.elastic, false);
  if (job.deadline) json["deadline"] = duration_text(*job.deadline);
  if (job.budget) json["budget"] = number_json(job.budget->value());
  put(json, "priority", job.priority, 0);
  return json;
}

}  // namespace

std::string to_json(const JobSpec& job) {
  return job_json(job).dump(2) + "\n";
}

// One line per field; what it holds is in flow style, which is JSON.
std::string to_yaml(const JobSpec& job) {
  std::string text;
  const Json json = job_json(job);
  for (const auto& [name, value] : json.items()) text += fmt::format("{}: {}\n", name, value.dump());
  return text;
}

std::string job_schema() {
  return json_schema(job_options(), "Orrery training job") + "\n";
}

}  // namespace orrery::workload
