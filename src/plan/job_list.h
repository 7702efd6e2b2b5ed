#pragma once
// A list of jobs to plan for: job files (docs/formats/job.md), when each is submitted, and what being late costs.
// docs/plan.md describes the fields; examples/jobs.yaml is one.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace orrery::plan {

inline constexpr std::size_t kListedJobsMax = 10'000;  // copies included
inline constexpr double kLateUsdPerH = 10;

struct ListedJob {
  std::string file;  // as written: beside the list unless it begins with "/"
  Seconds submit{};
  double late_usd_per_h = kLateUsdPerH;  // of a job with a deadline
  int copies = 1;
  std::size_t line = 0;
};

// Errors read `file:line: field: message`.
Result<std::vector<ListedJob>> read_job_list(std::string_view yaml, const std::string& file);

}  // namespace orrery::plan
