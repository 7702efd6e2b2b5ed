#include "workload/job_file.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "base/check.h"
#include "base/text.h"
#include "base/yaml_options.h"
#include "workload/training_options.h"

namespace orrery::workload {

namespace {

template <class Number>
std::optional<Number> integer_in(const OptionValues& values, std::string_view name) {
  if (!values.has(name)) return std::nullopt;
  return static_cast<Number>(values.integer(name));
}

Status read_train(JobSpec& job, const OptionValues& train, const YamlPlaces& places) {
  job.batch = integer_in<std::int64_t>(train, "batch");
  job.steps = integer_in<std::int64_t>(train, "steps");
  job.dataset_size = integer_in<std::int64_t>(train, "dataset_size");
  if (train.has("epochs")) job.epochs = train.number("epochs");
  job.precision = precision_of(train.text("precision"));
  ORRERY_TRY(job.optimizer, parse_optimizer(train.text("optimizer")));
  if (job.steps && job.epochs) return places.error("train.steps", "epochs are given too; expected one of them");
  if (job.epochs && !job.dataset_size) {
    return places.error("train.epochs", "needs dataset_size, the samples of one epoch");
  }
  return {};
}

Status read_parallelism(JobSpec& job, const OptionValues& values, const YamlPlaces& places) {
  job.replicas = integer_in<int>(values, "data");
  ORRERY_TRY(job.parallelism, parallelism_of(values));
  if (values.given("servers") && job.parallelism.exchange != GradientExchange::kParameterServer) {
    return places.error("parallelism.servers", "only exchange: ps has servers");
  }
  const std::int64_t each = devices_per_replica(job);
  if (each > kJobDevicesMax || each * job.replicas.value_or(1) > kJobDevicesMax) {
    return places.error("parallelism", fmt::format("needs more than {} devices", kJobDevicesMax));
  }
  return {};
}

// What the parallelism alone needs, or what the file says.
Result<DeviceCount> count_of(const JobSpec& job, const YamlOptions& request, const YamlPlaces& places,
                             const std::string& path) {
  if (const auto count = integer_in<int>(request.values(), "count")) return DeviceCount{*count, *count};
  const YamlOptions* range = request.group("count");
  if (range == nullptr) {
    const auto devices = static_cast<int>(devices_per_replica(job) * job.replicas.value_or(1));
    return DeviceCount{devices, devices};
  }
  const DeviceCount count = {static_cast<int>(range->values().integer("min")),
                             static_cast<int>(range->values().integer("max"))};
  if (count.min <= count.max) return count;
  return places.error(path + ".count.min", fmt::format("{} is above max {}", count.min, count.max));
}

Status check_count(const JobSpec& job, DeviceCount count, const YamlPlaces& places, const std::string& path) {
  if (count.is_range() && job.replicas) {
    return places.error("parallelism.data",
                        fmt::format("fixes the number of devices, but {}.count is a range; leave it out", path));
  }
  if (!counts_to_try(job, count).empty()) return {};
  const auto reason = misfit(job, count.max);
  ORRERY_CHECK(reason.has_value());
  const std::string range = count.is_range() ? fmt::format("no number from {} to {} fits: ", count.min, count.max) : "";
  return places.error(reason->of_batch ? "train.batch" : path + ".count", range + reason->message);
}

Result<DeviceRequest> read_request(const JobSpec& job, const YamlOptions& request, const YamlPlaces& places,
                                   const std::string& path) {
  ORRERY_TRY(const DeviceCount count, count_of(job, request, places, path));
  ORRERY_TRY_VOID(check_count(job, count, places, path));
  return DeviceRequest{request.values().text("device"), count};
}

Status read_alternatives(JobSpec& job, const YamlOptions& resources, const YamlPlaces& places) {
  for (const std::string_view name : {"device", "count"}) {
    if (!resources.values().given(name) && resources.group(name) == nullptr) continue;
    return places.error(fmt::format("resources.{}", name), "any_of is given too; put it into the list");
  }
  job.resources.clear();
  for (const YamlOptions& alternative : resources.groups("any_of")) {
    const std::string path = fmt::format("resources.any_of[{}]", job.resources.size());
    ORRERY_TRY(DeviceRequest request, read_request(job, alternative, places, path));
    job.resources.push_back(std::move(request));
  }
  return {};
}

Status read_resources(JobSpec& job, const YamlOptions& resources, const YamlPlaces& places) {
  if (!resources.groups("any_of").empty()) return read_alternatives(job, resources, places);
  ORRERY_TRY(job.resources.front(), read_request(job, resources, places, "resources"));
  return {};
}

Status check_elastic(const JobSpec& job, const YamlPlaces& places) {
  const bool has_range = std::any_of(job.resources.begin(), job.resources.end(),
                                     [](const DeviceRequest& request) { return request.count.is_range(); });
  if (!job.elastic || has_range) return {};
  return places.error("elastic", "needs a range of devices, such as count: {min: 1, max: 8}");
}

// A group that is not there is read as an empty one, for its defaults.
Result<YamlOptions> group_or_empty(const YamlOptions& options, std::string_view name) {
  if (const YamlOptions* group = options.group(name)) return *group;
  const auto& records = job_options();
  const auto record = std::find_if(records.begin(), records.end(), [&](const auto& r) { return r.name == name; });
  return YamlOptions::read({YamlValue::Kind::kMap, 1, {}, {}, {}}, record->fields, "", "");
}

Result<JobSpec> to_spec(const YamlOptions& options, const YamlPlaces& places) {
  const OptionValues& values = options.values();
  JobSpec job;
  job.name = values.text("job");
  job.model = values.text("model");
  job.command = values.texts("command");
  if (job.model.empty() && job.command.empty()) {
    return places.error("model", "missing; a job has a model, a command or both");
  }
  job.elastic = values.flag("elastic");
  if (values.has("deadline")) job.deadline = values.duration("deadline");
  if (values.has("budget")) job.budget = Dollars(values.number("budget"));
  job.priority = static_cast<int>(values.integer("priority"));
  ORRERY_TRY(const YamlOptions train, group_or_empty(options, "train"));
  ORRERY_TRY_VOID(read_train(job, train.values(), places));
  ORRERY_TRY(const YamlOptions parallelism, group_or_empty(options, "parallelism"));
  ORRERY_TRY_VOID(read_parallelism(job, parallelism.values(), places));
  ORRERY_TRY(const YamlOptions resources, group_or_empty(options, "resources"));
  ORRERY_TRY_VOID(read_resources(job, resources, places));
  ORRERY_TRY_VOID(check_elastic(job, places));
  return job;
}

bool is_key_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// `name:` at the start of the line, followed by nothing, a space or a comment.
bool starts_with_field(std::string_view line) {
  const auto end = std::find_if_not(line.begin(), line.end(), is_key_character);
  const auto name = static_cast<std::size_t>(end - line.begin());
  if (name == 0 || name == line.size() || line[name] != ':') return false;
  return name + 1 == line.size() || line[name + 1] == ' ' || line[name + 1] == '\t';
}

}  // namespace

std::string request_path(const JobFile& job, std::size_t i) {
  return job.places.has("resources.any_of") ? fmt::format("resources.any_of[{}]", i) : "resources";
}

Result<JobFile> read_job(std::string_view yaml, std::string_view file) {
  ORRERY_TRY(const YamlValue root, parse_yaml(yaml, file));
  ORRERY_TRY(const YamlOptions options, YamlOptions::read(root, job_options(), std::string(file)));
  YamlPlaces places(root, std::string(file));
  ORRERY_TRY(JobSpec spec, to_spec(options, places));
  return JobFile{std::move(spec), std::move(places)};
}

bool looks_like_job(std::string_view beginning) {
  if (beginning.starts_with("\xEF\xBB\xBF")) beginning.remove_prefix(3);
  for (const std::string& whole : split(beginning, '\n')) {
    const std::string_view line = trim(whole);
    if (line.empty() || line.front() == '#' || line == "---") continue;
    return starts_with_field(line);
  }
  return false;
}

}  // namespace orrery::workload
