#pragma once
// Traces that are not comma-separated: Standard Workload Format, sacct, JSON lines.

#include "simulate/readers/job_sink.h"

namespace orrery::simulate {

// Standard Workload Format: 18 numbers per line, comments begin with ';'. Processors count as GPUs.
Status read_swf(std::string_view text, JobSink& sink);
// `sacct --parsable2 --format=JobID,User,Submit,Start,End,AllocTRES,…` of Slurm: fields separated by '|', with a
// header. Steps of jobs and jobs without GPUs are no jobs for us.
// With State a file may be a queue as well (ReadOptions::queue); run times of jobs that have not ended are then their
// Timelimit.
Status read_sacct(std::string_view text, JobSink& sink);
// One object per line with the fields of our own CSV.
Status read_jsonl(std::string_view text, JobSink& sink);

}  // namespace orrery::simulate
