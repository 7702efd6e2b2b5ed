#pragma once
// Jobs of Gavel's world from its traces: CSV, packed or not, with the columns job_type, total_steps, scale_factor and
// arrival_time_s; Shockwave's have batch_mode as well (batch_rules.h).

#include "env/files.h"
#include "lab/lab.h"
#include "lab/reference/gavel/gavel_simulator.h"

namespace orrery::lab {

// In order of submission. A model that is not in the table of speeds is an error.
Result<GavelJobs> read_gavel_jobs(env::Files& files, const std::string& path, const PackedSpeeds& speeds);

}  // namespace orrery::lab
