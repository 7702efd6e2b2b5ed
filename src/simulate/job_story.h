#pragma once
// What happened to one job of a run, as text: every decision about it with its reason, and what it waited for.

#include "base/table.h"
#include "simulate/engine.h"

namespace orrery::simulate {

struct StoryLine {
  TimeNs at_ns = 0;
  std::string what;
  std::string why;
};

// In order of time. The run must have been kept with its log (EngineOptions::keep_log). Works for every policy, from
// what it decided alone.
std::vector<StoryLine> story_of(const JobTrace& job_trace, const RunResult& run, JobIndex job);

// Stories of one job under several policies.
Table story_table(const JobTrace& job_trace, const std::vector<RunResult>& runs, JobIndex job);

// The job with this id; the error names the nearest.
Result<JobIndex> find_job(const JobTrace& job_trace, std::string_view id);

}  // namespace orrery::simulate
