#pragma once
// The options of planners.

#include "cli/command.h"
#include "plan/planner.h"

namespace orrery::cli {

// --time-limit, --heuristic.
std::vector<OptionRecord> planner_option_records(const std::string& time_limit);

// With the solver and scratch folder of the environment (ORRERY_CBC, TMPDIR).
plan::PlannerOptions planner_options(Context& context, const OptionValues& options);

}  // namespace orrery::cli
