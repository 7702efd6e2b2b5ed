#pragma once
// `orrery plan JOBS.yaml --horizon 24h`: machines rented and given back period by period.

#include "cli/command.h"

namespace orrery::cli {

// --horizon, --period, --certainty, --cost, --scenarios, --seed.
std::vector<OptionRecord> plan_horizon_options();

Status plan_horizon(Context& context, const std::string& path, const OptionValues& options);

}  // namespace orrery::cli
