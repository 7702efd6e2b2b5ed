#pragma once
// jobs: bursts and idling of processor, memory and network of data-parallel jobs, from a set measured by this tool
// (`orrery dataset jobs`; the one that ships unless another is given).
//
// Jobs are left out in five folds drawn at random, as Driple draws its runs. What a step of the model alone takes comes
// from a step model fitted on the data set of iterations that ships, which has no jobs in it. Groups: each resource,
// over its metrics (burst, idle, amount) that are not 0; each metric; the physical estimate alone.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_jobs_suite(const SuiteInput& input);

}  // namespace orrery::lab
