#include "plan/job_list.h"

#include <fmt/format.h>

#include "base/options.h"
#include "base/text.h"
#include "base/yaml.h"

namespace orrery::plan {

namespace {

constexpr std::size_t kPathBytesMax = 4096;
constexpr double kLateMaxUsdPerH = 1e6;
constexpr Seconds kSubmitMax{1e8};

Result<Seconds> submit_of(YamlFields& fields) {
  ORRERY_TRY(const auto text, fields.text("submit"));
  if (!text) return Seconds();
  const auto time = parse_duration(*text);
  if (!time || *time < Seconds() || *time > kSubmitMax)
    return fields.error(
        "submit", fmt::format("{} is no time from the start; expected 90s, 30m, 12h or 1.5d, at most {}", quote(*text),
                              duration_text(kSubmitMax)));
  return *time;
}

Result<ListedJob> read_one(const YamlValue& value, const std::string& file, std::size_t index) {
  ORRERY_TRY(YamlFields fields, YamlFields::of(value, file, fmt::format("jobs[{}]", index)));
  ListedJob job;
  job.line = value.line;
  ORRERY_TRY(const auto path, fields.text("file"));
  if (!path || path->empty()) return fields.error("file", "missing; expected the name of a job file");
  if (path->size() > kPathBytesMax || !is_printable(*path)) return fields.error("file", "this is no name of a file");
  job.file = *path;
  ORRERY_TRY(job.submit, submit_of(fields));
  ORRERY_TRY(const auto late, fields.number("late_usd_per_h", 0, kLateMaxUsdPerH));
  ORRERY_TRY(const auto copies, fields.integer("copies", 1, static_cast<int>(kListedJobsMax)));
  ORRERY_TRY_VOID(fields.check_unknown());
  job.late_usd_per_h = late.value_or(kLateUsdPerH);
  job.copies = copies.value_or(1);
  return job;
}

}  // namespace

Result<std::vector<ListedJob>> read_job_list(std::string_view yaml, const std::string& file) {
  ORRERY_TRY(const YamlValue root, parse_yaml(yaml, file));
  ORRERY_TRY(YamlFields fields, YamlFields::of(root, file, ""));
  ORRERY_TRY(const YamlValue* list, fields.list("jobs"));
  ORRERY_TRY_VOID(fields.check_unknown());
  if (list == nullptr || list->items.empty()) return fields.error("jobs", "missing; expected a list with a job");
  std::vector<ListedJob> jobs;
  std::size_t total = 0;
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    ORRERY_TRY(ListedJob job, read_one(list->items[i], file, i));
    total += static_cast<std::size_t>(job.copies);
    if (total > kListedJobsMax) return fields.error("jobs", fmt::format("more than {} jobs", kListedJobsMax));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace orrery::plan
