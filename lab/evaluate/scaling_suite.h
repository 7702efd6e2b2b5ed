#pragma once
// scaling: step times of data-parallel jobs on placements that were left out, against measured tables; "all" is over
// these. Then Gavel's table (gavel_table.h).
// ps-workers: speeds of parameter-server jobs for numbers of servers and workers that were left out, and for a model of
// which ten runs are known.

#include "lab/evaluate/suites.h"
#include "lab/lab.h"

namespace orrery::lab {

Result<SuiteReport> run_scaling_suite(const SuiteInput& input);
Result<SuiteReport> run_ps_workers_suite(const SuiteInput& input);

}  // namespace orrery::lab
