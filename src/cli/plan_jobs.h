#pragma once
// `orrery plan JOBS.yaml`: from job files and prices to machines rented over time.

#include "cli/command.h"

namespace orrery::cli {

// --nodes, --replan, --gantt, --spot, beside those of catalogues, predictors and horizons.
std::vector<OptionRecord> plan_jobs_options();

Status plan_jobs(Context& context, const std::string& path, const OptionValues& options);

}  // namespace orrery::cli
