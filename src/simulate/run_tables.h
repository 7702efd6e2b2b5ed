#pragma once
// The rows of a run: of `orrery simulate --jobs FILE.csv` and `--log FILE.csv`. summary.h has the row of a whole run.

#include "base/table.h"
#include "simulate/engine.h"

namespace orrery::simulate {

// Submission, start and end of every job.
Table jobs_table(const JobTrace& job_trace, const std::vector<RunResult>& runs);

// Every decision with its machines ("0:4 1:4", "+2" for parameter servers) and its reason.
Table decisions_table(const JobTrace& job_trace, const std::vector<RunResult>& runs);

}  // namespace orrery::simulate
