#pragma once
// A list of jobs to plan for: job files (docs/reference/formats/job.md), when each is submitted, what being late costs,
// jobs that are expected to come, and the limits of what may be rented. docs/reference/planning.md describes the
// fields; examples/jobs.yaml and examples/horizon.yaml are such lists.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "plan/list_limits.h"

namespace orrery::plan {

inline constexpr std::size_t kListedJobsMax = 10'000;  // copies included
inline constexpr std::size_t kForecastsMax = 100;
inline constexpr double kLateUsdPerH = 10;
inline constexpr double kArrivalsMaxPerH = 1e4;

// Where a job runs when the plan begins.
struct ListedRunning {
  std::string vm;  // part of the name of a VM type
  int gpus = 1;
};

struct ListedJob {
  std::string file;  // as written: beside the list unless it begins with "/"
  Seconds submit{};
  double late_usd_per_h = kLateUsdPerH;  // of a job with a deadline
  int copies = 1;
  std::optional<ListedRunning> running{};
  std::size_t line = 0;
};

// Jobs that come by chance: a Poisson process.
struct ListedForecast {
  std::string file;
  double late_usd_per_h = kLateUsdPerH;
  double per_h = 0;
  Seconds from{};
  std::optional<Seconds> until{};  // nothing: as late as they can still end
  std::size_t line = 0;
};

struct JobList {
  std::vector<ListedJob> jobs;
  std::vector<ListedForecast> forecasts{};
  ListLimits limits{};
  horizon::EnergyFacts energy{};
  std::optional<SpotRules> spot{};
  Seconds switch_time{};  // lost when a job is suspended and resumed, moved or resized
};

// Errors read `file:line: field: message`.
Result<JobList> read_job_list(std::string_view yaml, const std::string& file);

}  // namespace orrery::plan
