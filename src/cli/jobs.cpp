#include "cli/jobs.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "base/yaml.h"
#include "env/files.h"
#include "hardware/device.h"
#include "workload/training_options.h"
#include "workload/zoo/zoo.h"

namespace orrery::cli {

using workload::JobFile;
using workload::JobSpec;

namespace {

bool knows(const OptionValues& options, std::string_view name) {
  const auto& records = options.records();
  return std::any_of(records.begin(), records.end(), [&](const OptionRecord& record) { return record.name == name; });
}

// Gives the option a value if the command has it and the user gave none.
Status complete(OptionValues& options, std::string_view name, std::string value) {
  if (!knows(options, name) || options.given(name)) return {};
  return options.set_values(name, {std::move(value)});
}

template <class Number>
Status complete(OptionValues& options, std::string_view name, const std::optional<Number>& value) {
  return value ? complete(options, name, fmt::format("{}", *value)) : Status();
}

Status complete_length(OptionValues& options, const JobSpec& job) {
  const bool own_steps = options.given("steps");
  const bool own_epochs = options.given("epochs");
  if (!own_epochs) ORRERY_TRY_VOID(complete(options, "steps", job.steps));
  if (!own_steps) ORRERY_TRY_VOID(complete(options, "epochs", job.epochs));
  return complete(options, "dataset-size", job.dataset_size);
}

Status complete_parallelism(OptionValues& options, const workload::Parallelism& parallel) {
  const std::pair<std::string_view, int> degrees[] = {{"tensor", parallel.tensor},
                                                      {"pipeline", parallel.pipeline},
                                                      {"microbatches", parallel.microbatches},
                                                      {"zero", parallel.zero_stage},
                                                      {"servers", parallel.servers}};
  for (const auto& [name, degree] : degrees) ORRERY_TRY_VOID(complete(options, name, std::to_string(degree)));
  return complete(options, "exchange", std::string(to_string(parallel.exchange)));
}

Status check_devices(const JobFile& job) {
  for (std::size_t i = 0; i < job.spec.resources.size(); ++i) {
    const std::string& name = job.spec.resources[i].device;
    if (name.empty()) continue;
    const auto device = hardware::find_device(name);
    if (!device) return job.places.error(request_path(job, i) + ".device", device.error().message());
  }
  return {};
}

Result<bool> is_job(env::Files& files, const std::string& path) {
  std::array<char, 4096> beginning{};
  ORRERY_TRY(const auto file, files.open(path));
  ORRERY_TRY(const std::size_t got, file->read_at(0, beginning));
  return workload::looks_like_job(std::string_view(beginning.data(), got));
}

// A path in a job file starts at the folder of the file.
std::string beside(const std::string& file, const std::string& path) {
  const std::size_t slash = file.rfind('/');
  return path.starts_with('/') || slash == std::string::npos ? path : file.substr(0, slash + 1) + path;
}

}  // namespace

Result<JobFile> read_job_file(env::Env env, const std::string& path) {
  ORRERY_TRY(const std::string yaml, env.files.read(path, kYamlBytesMax));
  ORRERY_TRY(JobFile job, workload::read_job(yaml, path));
  ORRERY_TRY_VOID(check_devices(job));
  return job;
}

bool is_tagged_file(env::Env env, const std::string& word) {
  return word.find('.') < word.find(':') && env.files.exists(word);
}

Result<std::optional<JobFile>> find_job(env::Env env, const std::string& word) {
  const auto model = workload::parse_model(word);
  const bool is_model =
      (model && !is_tagged_file(env, word)) || (!model && model.error().code() != ErrorCode::kNotFound);
  if (is_model || !env.files.exists(word)) return std::optional<JobFile>();
  const auto found = is_job(env.files, word);
  if (!found || !*found) return std::optional<JobFile>();  // the reader of models reports what is wrong with it
  ORRERY_TRY(JobFile job, read_job_file(env, word));
  return std::optional<JobFile>(std::move(job));
}

Result<std::string> model_of(env::Env env, const JobFile& job) {
  const std::string& name = job.spec.model;
  if (name.empty()) return job.places.error("model", "missing; a command alone cannot be predicted");
  const auto model = workload::parse_model(name);
  const std::string path = beside(job.places.file(), name);
  if (model && !is_tagged_file(env, path)) return name;
  if (model || (model.error().code() == ErrorCode::kNotFound && env.files.exists(path))) {
    // A name without a folder could be taken for a model of the zoo.
    return path.find('/') == std::string::npos ? "./" + path : path;
  }
  return job.places.error("model", model.error().message());
}

Result<JobSpec> changed_job(JobSpec job, const OptionValues& options) {
  ORRERY_TRY(const OptionValues completed, completed_options(options, job));
  ORRERY_TRY(job.parallelism, workload::parallelism_of(completed));
  const bool devices_are_given =
      options.given("tensor") || options.given("pipeline") || !knows(options, "count") || options.given("count");
  if (devices_are_given) job.replicas.reset();
  if (options.given("batch")) job.batch.reset();
  return job;
}

Result<OptionValues> completed_options(OptionValues options, const JobSpec& job) {
  ORRERY_TRY_VOID(complete_length(options, job));
  ORRERY_TRY_VOID(complete_parallelism(options, job.parallelism));
  ORRERY_TRY_VOID(complete(options, "optimizer", std::string(to_string(job.optimizer))));
  if (job.precision) ORRERY_TRY_VOID(complete(options, "precision", std::string(to_string(*job.precision))));
  if (job.deadline) ORRERY_TRY_VOID(complete(options, "deadline", fmt::format("{}", job.deadline->value() / 3600)));
  if (job.budget) ORRERY_TRY_VOID(complete(options, "budget", fmt::format("{}", job.budget->value())));
  return options;
}

}  // namespace orrery::cli
