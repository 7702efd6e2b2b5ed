#include "service/models.h"

#include <array>

#include "base/yaml.h"
#include "env/files.h"
#include "hardware/device.h"
#include "workload/import/model_file.h"
#include "workload/zoo/zoo.h"

namespace orrery::service {

using workload::JobFile;
using workload::TrainingGraph;

namespace {

Status check_devices(const JobFile& job) {
  for (std::size_t i = 0; i < job.spec.resources.size(); ++i) {
    const std::string& name = job.spec.resources[i].device;
    if (name.empty()) continue;
    const auto device = hardware::find_device(name);
    if (!device) return job.places.error(request_path(job, i) + ".device", device.error().message());
  }
  return {};
}

// A file that cannot be read is no job: the reader of models reports what is wrong with it.
bool is_job(env::Files& files, const std::string& path) {
  std::array<char, 4096> beginning{};
  const auto file = files.open(path);
  if (!file) return false;
  const auto got = (*file)->read_at(0, beginning);
  return got && workload::looks_like_job(std::string_view(beginning.data(), *got));
}

bool is_tagged_file(env::Env env, const std::string& name) {
  return name.find('.') < name.find(':') && env.files.exists(name);
}

// The name as the zoo understands it; no value if it is the path of a file.
Result<std::optional<workload::ModelSpec>> zoo_model(env::Env env, const std::string& name, const std::string& path) {
  if (is_tagged_file(env, path)) return std::optional<workload::ModelSpec>();
  auto spec = workload::parse_model(name);
  if (spec) return std::optional(std::move(*spec));
  const bool is_path = path.find('/') != std::string::npos || env.files.exists(path);
  if (spec.error().code() == ErrorCode::kNotFound && is_path) return std::optional<workload::ModelSpec>();
  return std::move(spec).error();
}

}  // namespace

std::string beside(const std::string& file, const std::string& path) {
  const std::size_t slash = file.rfind('/');
  return path.starts_with('/') || slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

Result<JobFile> read_job_file(env::Env env, const std::string& path) {
  ORRERY_TRY(const std::string yaml, env.files.read(path, kYamlBytesMax));
  ORRERY_TRY(JobFile job, workload::read_job(yaml, path));
  ORRERY_TRY_VOID(check_devices(job));
  return job;
}

Result<NamedModel> load_model(env::Env env, const std::string& name) {
  ORRERY_TRY(const auto spec, zoo_model(env, name, name));
  if (spec) {
    ORRERY_TRY(TrainingGraph graph, workload::build_model(*spec));
    return NamedModel{name, std::move(graph)};
  }
  if (is_job(env.files, name)) {
    ORRERY_TRY(const JobFile job, read_job_file(env, name));
    return load_model(env, job);
  }
  ORRERY_TRY(TrainingGraph graph, workload::read_model_file(env.files, name));
  return NamedModel{name, std::move(graph)};
}

Result<NamedModel> load_model(env::Env env, const JobFile& job) {
  const std::string& name = job.spec.model;
  if (name.empty()) return job.places.error("model", "missing; a command alone cannot be predicted");
  const std::string path = beside(job.places.file(), name);
  const auto spec = zoo_model(env, name, path);
  if (!spec || (!*spec && !env.files.exists(path))) {
    return job.places.error("model", spec ? "no such file" : spec.error().message());
  }
  ORRERY_TRY(TrainingGraph graph, *spec ? workload::build_model(**spec) : workload::read_model_file(env.files, path));
  return NamedModel{name, std::move(graph), job.spec};
}

}  // namespace orrery::service
