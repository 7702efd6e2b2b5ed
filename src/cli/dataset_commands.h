#pragma once
// What the commands of data sets share.

#include "cli/command.h"
#include "profile/dataset/build.h"
#include "profile/jobs/job_file.h"

namespace orrery::cli {

// What runs models here, on this core.
Result<profile::Workbench> workbench(env::Env env);

// One piece of work brought the count to `done`; what is missing in between was done by an earlier run.
void advance_to(Progress& progress, std::size_t done);

Status show_jobs(Context& context, const profile::JobSet& set, const OptionValues& options);

}  // namespace orrery::cli
