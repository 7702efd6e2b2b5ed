#include "plan/job_list.h"

#include <fmt/format.h>

#include "base/text.h"
#include "base/yaml.h"

namespace orrery::plan {

namespace {

constexpr std::size_t kPathBytesMax = 4096;
constexpr double kLateMaxUsdPerH = 1e6;

Result<std::string> file_of(YamlFields& fields) {
  ORRERY_TRY(const auto path, fields.text("file"));
  if (!path || path->empty()) return fields.error("file", "missing; expected the name of a job file");
  if (path->size() > kPathBytesMax || !is_printable(*path)) return fields.error("file", "this is no name of a file");
  return *path;
}

Result<std::optional<ListedRunning>> running_of(YamlFields& fields) {
  const YamlValue* value = fields.any("running");
  if (value == nullptr) return std::optional<ListedRunning>();
  ORRERY_TRY(YamlFields inner, YamlFields::of(*value, fields.file(), fields.path("running")));
  ORRERY_TRY(const auto vm, inner.text("vm"));
  if (!vm || vm->empty() || vm->size() > kMatchBytesMax || !is_printable(*vm))
    return inner.error("vm", "expected part of the name of a VM type");
  ORRERY_TRY(const auto gpus, inner.integer("gpus", 1, kVmGpusMax));
  ORRERY_TRY_VOID(inner.check_unknown());
  return std::optional(ListedRunning{*vm, gpus.value_or(1)});
}

Result<ListedJob> read_one(const YamlValue& value, const std::string& file, std::size_t index) {
  ORRERY_TRY(YamlFields fields, YamlFields::of(value, file, fmt::format("jobs[{}]", index)));
  ListedJob job;
  job.line = value.line;
  ORRERY_TRY(job.file, file_of(fields));
  ORRERY_TRY(const auto submit, time_field(fields, "submit"));
  ORRERY_TRY(const auto late, fields.number("late_usd_per_h", 0, kLateMaxUsdPerH));
  ORRERY_TRY(const auto copies, fields.integer("copies", 1, static_cast<int>(kListedJobsMax)));
  ORRERY_TRY(job.running, running_of(fields));
  ORRERY_TRY_VOID(fields.check_unknown());
  job.submit = submit.value_or(Seconds());
  job.late_usd_per_h = late.value_or(kLateUsdPerH);
  job.copies = copies.value_or(1);
  if (job.running && job.submit > Seconds())
    return fields.error("submit", "a job that is running came before the start");
  return job;
}

Result<ListedForecast> read_forecast(const YamlValue& value, const std::string& file, std::size_t index) {
  ORRERY_TRY(YamlFields fields, YamlFields::of(value, file, fmt::format("forecast[{}]", index)));
  ListedForecast forecast;
  forecast.line = value.line;
  ORRERY_TRY(forecast.file, file_of(fields));
  ORRERY_TRY(const auto late, fields.number("late_usd_per_h", 0, kLateMaxUsdPerH));
  ORRERY_TRY(const auto per_h, fields.number("per_h", 0, kArrivalsMaxPerH));
  if (!per_h || *per_h <= 0) return fields.error("per_h", "expected how many come in an hour, more than 0");
  ORRERY_TRY(const auto from, time_field(fields, "from"));
  ORRERY_TRY(forecast.until, time_field(fields, "until"));
  ORRERY_TRY_VOID(fields.check_unknown());
  forecast.late_usd_per_h = late.value_or(kLateUsdPerH);
  forecast.per_h = *per_h;
  forecast.from = from.value_or(Seconds());
  if (forecast.until && *forecast.until <= forecast.from) return fields.error("until", "expected a time after `from`");
  return forecast;
}

Status read_jobs(YamlFields& fields, const YamlValue& list, JobList& read) {
  std::size_t total = 0;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    ORRERY_TRY(ListedJob job, read_one(list.items[i], fields.file(), i));
    total += static_cast<std::size_t>(job.copies);
    if (total > kListedJobsMax) return fields.error("jobs", fmt::format("more than {} jobs", kListedJobsMax));
    read.jobs.push_back(std::move(job));
  }
  return {};
}

Status read_forecasts(YamlFields& fields, const YamlValue& list, JobList& read) {
  if (list.items.size() > kForecastsMax)
    return fields.error("forecast", fmt::format("more than {} kinds of jobs", kForecastsMax));
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    ORRERY_TRY(ListedForecast forecast, read_forecast(list.items[i], fields.file(), i));
    read.forecasts.push_back(std::move(forecast));
  }
  return {};
}

}  // namespace

Result<JobList> read_job_list(std::string_view yaml, const std::string& file) {
  ORRERY_TRY(const YamlValue root, parse_yaml(yaml, file));
  ORRERY_TRY(YamlFields fields, YamlFields::of(root, file, ""));
  JobList read;
  ORRERY_TRY(const YamlValue* jobs, fields.list("jobs"));
  ORRERY_TRY(const YamlValue* forecasts, fields.list("forecast"));
  ORRERY_TRY(read.limits, read_limits(fields));
  ORRERY_TRY(read.energy, read_energy(fields));
  ORRERY_TRY(read.spot, read_spot(fields));
  ORRERY_TRY(const auto lost, time_field(fields, "switch"));
  read.switch_time = lost.value_or(Seconds());
  ORRERY_TRY_VOID(fields.check_unknown());
  const bool empty = jobs == nullptr || jobs->items.empty();
  if (empty && (forecasts == nullptr || forecasts->items.empty()))
    return fields.error("jobs", "missing; expected a list with a job");
  if (!empty) ORRERY_TRY_VOID(read_jobs(fields, *jobs, read));
  if (forecasts != nullptr) ORRERY_TRY_VOID(read_forecasts(fields, *forecasts, read));
  return read;
}

}  // namespace orrery::plan
